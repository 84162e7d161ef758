// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a model or an input function is being built for: the same three modes everywhere.
#include "shoal/nn/mode.h"

namespace shoal {

using nn::Mode;
using nn::to_string;

}  // namespace shoal
