// SPDX-License-Identifier: Apache-2.0
#include "json_text.h"

#include "shoal/json/text.h"

namespace shoal::checkpoint {

std::string json_string(std::string_view text) { return json::string_text(text); }

}  // namespace shoal::checkpoint
