// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The purpose that a model or an input function is built for: training, evaluation or prediction.
#include "shoal/nn/mode.h"

namespace shoal {

using nn::Mode;
using nn::to_string;

}  // namespace shoal
