// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signatures: the ways in which an exported model can be called. Each head provides some.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::nn {

/// The name of the signature for calls that do not name one (the same as in TensorFlow Serving).
inline constexpr std::string_view kDefaultSignature = "serving_default";

/// One way in which an exported model can be called. It lists the outputs of such a call: each has a name, and returns the
/// prediction (or text prediction) with a certain key.
struct ExportSignature {
  std::string name;
  std::vector<std::pair<std::string, std::string>> outputs;  ///< Pairs of an output's name and a prediction's key.
};

}  // namespace shoal::nn
