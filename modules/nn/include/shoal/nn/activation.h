#pragma once
/// Element-wise functions after a layer.
#include <cstdint>

#include "shoal/graph/graph.h"

namespace shoal::nn {

enum class Activation : uint8_t { kNone = 0, kRelu = 1 };

/// max(x, 0), float32 of any shape. The gradient at 0 is 0.
Value relu(Value x);
/// The activation applied to x; kNone is x itself.
Value activate(Value x, Activation activation);

}  // namespace shoal::nn
