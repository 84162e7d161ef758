// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The commands below `shoal data`, and the parts that they share.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "data/records.h"

namespace shoal::cli {

/// The files to read, and how to print the result.
struct DataArguments {
  std::vector<std::string> files;
  ReadChoice read;
  bool json = false;
};

/// Adds FILE..., --format, --separator, --header, --no-header, --missing, the flags of add_table_flags(), and --json.
void add_data_arguments(arguments::Command& command, DataArguments& arguments);

/// Opens one file after another. Calls `each_file` (which may be empty) for each file, and then `each_record` for each of
/// its records, with the record's number, counted from 0 over all files. Ends with the first error. Shows the progress on
/// a terminal, and the warnings of readers.
Result<int64_t> for_each_record(
    Context& context, const DataArguments& arguments, const ReadChoice& read,
    const std::function<Result<void>(OpenedFile& file)>& each_file,
    const std::function<Result<void>(const std::vector<Cell>& cells, int64_t number)>& each_record);

/// "[28, 28, 1]".
std::string shape_text(const std::vector<int64_t>& shape);
/// The first bytes of a text from a file, in quotes and on one line, with escapes for characters that are not printable.
std::string shown(std::string_view text, size_t bytes_max = 60);
/// As shown(), for a text of `bytes` bytes. `beginning` has at least the text's first 60 bytes; what it has behind them is
/// not shown.
std::string shown_beginning(std::string_view beginning, uint64_t bytes);
/// Formats a number with at most six significant digits.
std::string number_text(double number);
/// The field's name for messages: "area", or "the value" for the lone field of files whose values have no names.
std::string field_title(const std::string& name);

void add_describe(arguments::Command& data, Action& selected);
void add_sample(arguments::Command& data, Action& selected);
void add_statistics(arguments::Command& data, Action& selected);
void add_vocabulary(arguments::Command& data, Action& selected);
void add_bench(arguments::Command& data, Action& selected);

}  // namespace shoal::cli
