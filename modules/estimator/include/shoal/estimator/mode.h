#pragma once
/// What a model or an input function is being built for.
#include <cstdint>
#include <string_view>

namespace shoal {

enum class Mode : uint8_t { kTrain, kEval, kPredict };

/// "train", "eval", "predict".
constexpr std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kTrain: return "train";
    case Mode::kEval: return "eval";
    case Mode::kPredict: return "predict";
  }
  return "unknown";
}

}  // namespace shoal
