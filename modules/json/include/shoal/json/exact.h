// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of any bytes and numbers of any kind in JSON, so that they come back as they were. JSON itself has UTF-8 and finite
/// numbers only.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// A string, or {"base64": ...} for bytes that are no UTF-8.
Json exact_text(std::string_view text);

Result<std::string> exact_text_of(const Json& json, std::string_view name);

/// A number, or one of "nan", "inf" and "-inf".
Json exact_number(double number);

Result<double> exact_number_of(const Json& json, std::string_view name);

}  // namespace shoal::json
