#pragma once
/// What a model or an input function is being built for, in the namespace that users write in.
#include "shoal/nn/mode.h"

namespace shoal {

using nn::Mode;

}  // namespace shoal
