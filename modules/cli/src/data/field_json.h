// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Summaries of fields as JSON and as text.
#include <string>

#include "data/field_summaries.h"
#include "data/records.h"
#include "json_out.h"

namespace shoal::cli {

/// Records in which the field is not there, or says that it is missing, or is NaN alone.
int64_t missing_count(const FieldSummary& field, const OpenedFile& file, int64_t records);
/// A number as an integer where the type has integers alone and a double holds it exactly.
Json number_json(double number, const std::string& type);

/// {"name", "type", "missing", "shape" or "lengths", "min" and "max" of numbers, "bytes" of texts}.
Json field_json(const FieldSummary& field, const OpenedFile& file, int64_t records);
/// "int64, 3 missing, 1 to 99".
std::string field_text(const FieldSummary& field, const OpenedFile& file, int64_t records);

}  // namespace shoal::cli
