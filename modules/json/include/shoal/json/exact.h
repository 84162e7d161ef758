// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Stores texts of any bytes and numbers of any kind in JSON so that they read back unchanged. JSON itself has only UTF-8
/// and finite numbers.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// Makes a string, or {"base64": ...} for bytes that are not UTF-8.
Json exact_text(std::string_view text);

Result<std::string> exact_text_of(const Json& json, std::string_view name);

/// Makes a number, or one of "nan", "inf" and "-inf".
Json exact_number(double number);

Result<double> exact_number_of(const Json& json, std::string_view name);

}  // namespace shoal::json
