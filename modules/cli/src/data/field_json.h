// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Summaries of fields as JSON and as text.
#include <string>

#include "data/field_summaries.h"
#include "data/records.h"
#include "json_out.h"

namespace shoal::cli {

/// How many records lack the field, mark it as missing, or have only NaN in it.
int64_t missing_count(const FieldSummary& field, const OpenedFile& file, int64_t records);
/// Returns `number` as JSON: as an integer if the field's `type` has only integers and a double holds this one exactly,
/// else as a real number.
Json number_json(double number, const std::string& type);

/// Returns {"name", "type", "missing", "shape" or "lengths", "min" and "max" of numbers, "bytes" of texts}.
Json field_json(const FieldSummary& field, const OpenedFile& file, int64_t records);
/// Returns a text such as "int64, 3 missing, 1 to 99".
std::string field_text(const FieldSummary& field, const OpenedFile& file, int64_t records);

}  // namespace shoal::cli
