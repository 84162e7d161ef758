// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Flags with lists as values, in text form: "64,32". ProgramFlag describes the notation.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/estimator/run.h"

namespace shoal {

bool is_list(const Params::Item& item);
/// The type of a list flag in the text of --help: "INT,INT,...".
std::string list_type(const ProgramFlag& flag);
/// Reads `text` as a list of the flag's type. InvalidArgument, with the number and text of the element that does not fit.
Result<Params::Item> read_list(std::string_view text, const ProgramFlag& flag);
/// Writes `list` in the notation that read_list() reads.
std::string list_text(const Params::Item& list);

}  // namespace shoal
