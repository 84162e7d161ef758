// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Flags that are lists, as text: "64,32". How a list is written is said at ProgramFlag.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/estimator/run.h"

namespace shoal {

bool is_list(const Params::Item& item);
/// The type that --help shows for a flag that is a list: "INT,INT,...".
std::string list_type(const ProgramFlag& flag);
/// The list of the flag's type that `text` is. InvalidArgument, naming the element's place and text, if it is none.
Result<Params::Item> read_list(std::string_view text, const ProgramFlag& flag);
/// The text that read_list() reads as `list`.
std::string list_text(const Params::Item& list);

}  // namespace shoal
