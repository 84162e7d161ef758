// SPDX-License-Identifier: Apache-2.0
// Implements `shoal data`: the arguments that its commands share, and the loop over the records of files.
#include <chrono>
#include <cmath>

#include "data/data_commands.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/base/environment.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/production.h"
#include "shoal/base/utf8.h"
#include "table_flags.h"

namespace shoal::cli {
namespace {

/// Reads the option --separator. Returns an error sentence; "" for none.
std::string read_separator(const std::string& text, std::optional<char>& separator) {
  const std::string meant = text == "\\t" || text == "tab" ? "\t" : text;
  if (meant.size() != 1 || meant == "\"" || meant == "\n" || meant == "\r") {
    return "is one character, such as ; or tab, and no quote";
  }
  separator = meant[0];
  return "";
}

/// Shows on the terminal how many records were read, in a line that is redrawn twice a second.
class Progress {
 public:
  explicit Progress(Context& context) : context_(context) {
    if (!context_.terminals.errors) return;
    clock_ = make_production_environment({});
    next_ = clock_->now() + kInterval;
  }
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void clear() {
    if (shown_) context_.err << "\r\033[K";
    shown_ = false;
  }
  void read(int64_t records, const std::string& path) {
    constexpr int64_t kLookedAt = 256;  // The clock is read once per this many records.
    if (!clock_ || records % kLookedAt != 0) return;
    const SteadyTime now = clock_->now();
    if (now < next_) return;
    next_ = now + kInterval;
    shown_ = true;
    context_.err << "\r\033[K" << records << " records, now in " << shown(path);
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{500};
  Context& context_;
  std::shared_ptr<Environment> clock_;  // Null: no progress is shown.
  SteadyTime next_;
  bool shown_ = false;
};

constexpr size_t kShownBytes = 60;

/// Implements shown(); `bytes` is the length of the whole text, of which `text` may be the beginning.
std::string shown_text(std::string_view text, size_t bytes_max, uint64_t bytes) {
  // JSON escapes all characters that could control a terminal, except DEL and U+0080 to U+009F. If the text has one of
  // U+0080 to U+009F, or is no UTF-8, `ascii` makes JSON escape all characters above 127. DEL is erased below.
  bool ascii = !check_utf8(text, "", "");
  for (size_t i = 0; i + 1 < text.size() && !ascii; ++i) ascii = text[i] == '\xc2' && uint8_t(text[i + 1]) < 0xa0;
  std::string cut(text.substr(0, bytes_max));
  while (!cut.empty() && text.size() > bytes_max && (text[cut.size()] & 0xc0) == 0x80)
    cut.pop_back();  // The cut fell inside a character.
  std::string escaped = json::text_of(json::Json(cut), -1, ascii);
  std::erase(escaped, '\x7f');
  return text.size() > bytes_max ? escaped + "... (" + std::to_string(bytes) + " bytes)" : escaped;
}

}  // namespace

void add_data_arguments(arguments::Command& command, DataArguments& arguments) {
  command.add("FILE", arguments.files, "Files, plain or compressed by gzip, zstd or lz4, or a folder of images")
      .path("FILE")
      .required();
  command.add("--format", arguments.read.format,
              "The format, if the contents do not show it: csv, json-lines, tf-example, tf-record, npy, npz, tar, "
              "idx, image, image-folder or text");
  command
      .add_call(
          "--separator",
          [&arguments](const std::string& text) -> Result<void> {
            const std::string wrong = read_separator(text, arguments.read.separator);
            if (!wrong.empty()) return invalid_argument(wrong);
            return {};
          },
          "Of CSV files: the character between two fields (tab for tabs); default: the one that makes them a table")
      .type("TEXT");
  const auto take_header = [&arguments](bool has) {
    return [&arguments, has](const std::string& text) -> Result<void> {
      arguments.read.header = (text == "true") == has;
      return {};
    };
  };
  command.add_switch_call("--header", take_header(true), "Of CSV files: the first record names the columns");
  command
      .add_switch_call(
          "--no-header", take_header(false),
          "Of CSV files: the first record is no header; default: it is one if no field of it is empty or a number")
      .excludes("--header");
  command.add("--missing", arguments.read.table.missing_text,
              "Of CSV files: a text that marks a missing field, besides an empty field");
  add_table_flags(command, arguments.read.table);
  command.add_switch("--json", arguments.json, "Print one JSON object");
}

Result<int64_t> for_each_record(
    Context& context, const DataArguments& arguments, const ReadChoice& read,
    const std::function<Result<void>(OpenedFile& file)>& each_file,
    const std::function<Result<void>(const std::vector<Cell>& cells, int64_t number)>& each_record) {
  Progress progress(context);
  // Readers log their warnings, and the user of this command gets them as its complaints.
  const std::shared_ptr<Environment> env = make_production_environment(
      {.sink =
           [&](const LogRecord& record) {
             if (record.level < LogLevel::kWarning) return;
             progress.clear();
             context.complain(record.message);
           },
       .storage = std::shared_ptr<Storage>(std::shared_ptr<void>(), &context.storage)});  // The caller owns it.
  std::vector<Cell> cells;
  int64_t records = 0;
  for (const std::string& path : arguments.files) {
    SHOAL_TRY(OpenedFile file, open_records(*env, path, read));
    if (each_file) SHOAL_TRY_VOID(each_file(file));
    for (;; ++records) {
      SHOAL_TRY(const bool more, file.records->next(cells));
      if (!more) break;
      SHOAL_TRY_VOID(each_record(cells, records));
      progress.read(records, path);
    }
  }
  return records;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return "[" + comma_separated(shape, [](int64_t size) { return std::to_string(size); }) + "]";
}

std::string shown(std::string_view text, size_t bytes_max) { return shown_text(text, bytes_max, text.size()); }

std::string shown_beginning(std::string_view beginning, uint64_t bytes) {
  return shown_text(beginning, kShownBytes, bytes);
}

std::string number_text(double number) {
  constexpr double kExactMax = double(int64_t(1) << 53);  // Up to here double holds each whole number.
  if (std::abs(number) <= kExactMax && std::trunc(number) == number) return formatted("%.0f", number);
  return formatted("%.6g", number);
}

std::string field_title(const std::string& name) { return name.empty() ? "the value" : shown(name); }

void add_data_command(arguments::Command& app, Action& selected) {
  arguments::Command& data =
      app.add_command("data", "What files of data have in them, and how fast a program reads its own");
  add_describe(data, selected);
  add_sample(data, selected);
  add_statistics(data, selected);
  add_vocabulary(data, selected);
  add_bench(data, selected);
}

}  // namespace shoal::cli
