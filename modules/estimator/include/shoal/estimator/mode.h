// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The purpose for which a model or an input is built: training, evaluation or prediction.
#include "shoal/nn/mode.h"

namespace shoal {

using nn::Mode;
using nn::to_string;

}  // namespace shoal
