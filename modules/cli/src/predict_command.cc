// SPDX-License-Identifier: Apache-2.0
// Implements `shoal predict EXPORT [FILE]`.
#include <algorithm>

#include "command.h"
#include "exports.h"
#include "prediction_rows.h"
#include "shoal/arguments/command.h"
#include "shoal/base/environment.h"
#include "table_flags.h"
#include "table_input.h"

namespace shoal::cli {
namespace {

/// Names of columns or predictions, as the user wrote them in an option. Each text is a list of names in the form of a CSV
/// record, so a name that contains a comma can be quoted.
using NameLists = std::vector<std::string>;

struct PredictArguments {
  std::string folder, file = "-", separator = ",", signature;
  NameLists columns, keys, unused, copied;
  data::CsvOptions table;
  int64_t batch = 128;
  bool json_lines = false;
  RuntimeOptions runtime;
};

data::ReadBytes bytes_of(std::string_view text) {
  return [text](std::span<std::byte> out) mutable -> Result<size_t> {
    const size_t count = std::min(out.size(), text.size());
    std::memcpy(out.data(), text.data(), count);
    text.remove_prefix(count);
    return count;
  };
}

Result<std::vector<std::string>> names_in(const NameLists& lists, const char* option) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    data::CsvReader reader(bytes_of(list), option, {});
    SHOAL_TRY(const std::vector<std::string> fields, reader.fields());
    names.insert(names.end(), fields.begin(), fields.end());
  }
  return names;
}

Result<data::CsvReader> open_table(Context& context, const PredictArguments& arguments) {
  if (arguments.file == "-") return data::CsvReader(context.in, "standard input", arguments.table);
  auto reader = data::CsvReader::open(context.storage, arguments.file, arguments.table);
  if (reader || reader.error().kind() != ErrorKind::kFailedPrecondition) return reader;
  return failed_precondition(reader.error().message() +
                             "; input that is not a file can come by standard input: give - as the name");
}

/// Rows of the table: the values for the model, and the fields to copy.
struct Rows {
  std::vector<data::Element> values;
  std::vector<CopiedFields> copied;
};

CopiedFields copied_fields(const data::CsvReader& reader, const TableInput& input) {
  CopiedFields copied;
  if (input.copied().empty()) return copied;
  std::vector<std::string> fields = reader.last_fields();
  for (const auto& column : input.copied()) copied.push_back(std::move(fields[column.place]));
  return copied;
}

/// Reads up to one batch of rows into `rows`, whose memory is reused. At the end of the table `end` becomes true; at a
/// damaged row `end` becomes the error.
size_t read_rows(data::CsvReader& reader, const TableInput& input, Rows& rows, Result<bool>& end) {
  size_t count = 0;
  while (count < rows.values.size()) {
    const auto more = reader.next(rows.values[count]);
    if (!more || !*more) {
      end = more ? Result<bool>(true) : Result<bool>(more.error());
      break;
    }
    if (const auto checked = input.check(rows.values[count]); !checked) {
      end = reader.damaged(checked.error().message());
      break;
    }
    rows.copied[count] = copied_fields(reader, input);
    ++count;
  }
  return count;
}

/// Writes the predictions for `rows`. If the model refuses a row, the predictions for the rows before it are written.
Result<void> predict_rows(ExportedModel& model, const TableInput& input, std::span<const data::Element> rows,
                          std::span<const CopiedFields> copied, PredictionRows& writer) {
  const auto predictions = call_user("predict", [&] { return model.predict(input.features(rows)); });
  if (predictions) return writer.write(copied, *predictions);
  if (rows.size() == 1) return predictions.error().with_context("row " + std::to_string(writer.rows() + 1));
  for (size_t i = 0; i < rows.size(); ++i) {
    SHOAL_TRY_VOID(predict_rows(model, input, rows.subspan(i, 1), copied.subspan(i, 1), writer));
  }
  return {};
}

Result<int> predict(Context& context, ExportedModel& model, const PredictArguments& arguments) {
  TableChoice choice;
  SHOAL_TRY(choice.unused, names_in(arguments.unused, "--unused"));
  SHOAL_TRY(choice.copied, names_in(arguments.copied, "--copy"));
  SHOAL_TRY(const std::vector<std::string> keys, names_in(arguments.keys, "--keys"));
  SHOAL_TRY(std::vector<RowOutput> outputs, choose_outputs(model, arguments.signature, keys));
  for (const RowOutput& output : outputs) {
    if (std::find(choice.copied.begin(), choice.copied.end(), output.name) != choice.copied.end()) {
      return invalid_argument("column " + output.name + " cannot be copied: a prediction has that name");
    }
  }
  SHOAL_TRY(data::CsvReader reader, open_table(context, arguments));
  SHOAL_TRY(std::vector<std::string> names, names_in(arguments.columns, "--columns"));
  if (names.empty()) {
    SHOAL_TRY(names, reader.header());
    if (names.empty()) {
      return data_loss((arguments.file == "-" ? "standard input" : arguments.file) +
                       ": nothing in it; its first line has to name the columns, unless --columns does");
    }
  } else {
    SHOAL_TRY_VOID(reader.name_columns(names));
  }
  SHOAL_TRY(const TableInput input, TableInput::match(model.inputs(), names, choice));
  SHOAL_TRY_VOID(reader.expect(input.columns(), input.unused()));
  RowFormat format{arguments.json_lines, arguments.table.separator};
  for (size_t i = 0; i < choice.copied.size(); ++i) {
    format.copied.push_back({choice.copied[i], input.copied()[i].is_number});
  }
  PredictionRows writer(context.out, std::move(outputs), std::move(format));
  SHOAL_TRY_VOID(writer.write_header());
  const size_t batch = size_t(arguments.batch);
  Rows rows{std::vector<data::Element>(batch), std::vector<CopiedFields>(batch)};
  for (Result<bool> end = false; end && !*end && context.out.ok();) {
    const size_t count = read_rows(reader, input, rows, end);
    if (count > 0) {
      // If a row is damaged, the predictions for the rows before it are written, and then the error ends the command.
      const std::span<const CopiedFields> copied = std::span(rows.copied).first(count);
      SHOAL_TRY_VOID(predict_rows(model, input, std::span(rows.values).first(count), copied, writer));
      context.out.flush();
    }
    if (!end) return end.error();
  }
  if (const auto remark = reader.remark()) context.complain(*remark);
  if (writer.rows_with_bytes() > 0) {
    context.complain(
        std::to_string(writer.rows_with_bytes()) + " of " + std::to_string(writer.rows()) +
        " rows have text that is no UTF-8, which JSON cannot hold: such bytes are written as U+FFFD; write CSV, "
        "or make the table UTF-8 first, for example with iconv");
  }
  if (writer.rows_with_nan() > 0) {
    context.complain(std::to_string(writer.rows_with_nan()) + " of " + std::to_string(writer.rows()) +
                     " rows have a prediction that is no number (NaN), the first of them row " +
                     std::to_string(writer.first_with_nan()) +
                     "; does a number miss there that the model has no default for?");
  }
  return 0;
}

Result<int> load_and_predict(Context& context, PredictArguments arguments) {
  SHOAL_TRY(const std::string folder, find_export(context.storage, arguments.folder));
  arguments.table.separator = arguments.separator == "tab" ? '\t' : arguments.separator[0];
  SHOAL_TRY(const auto model, call_user("export", [&] { return load_exported_model(folder, arguments.runtime); }));
  return predict(context, *model, arguments);
}

}  // namespace

void add_predict_command(arguments::Command& app, Action& selected) {
  arguments::Command& command = app.add_command(
      "predict", "What an exported model predicts for the rows of a CSV table, as CSV or as one JSON object per row");
  const auto arguments = std::make_shared<PredictArguments>();
  command.add("EXPORT", arguments->folder, "An export, or a folder of exports, whose newest is taken")
      .path("FOLDER")
      .required();
  command.add("FILE", arguments->file, "The table, plain or compressed (gzip, zstd, lz4); -: standard input")
      .path("FILE")
      .shows_default();
  const auto add_names = [&command](const char* option, NameLists& lists, const char* help) {
    command.add(option, lists, help).type("NAME,...");
  };
  add_names("--columns", arguments->columns,
            "Names of the columns, for a table whose first line does not name them; with a comma in it: 'a,\"b, c\"'");
  add_names("--unused", arguments->unused, "Columns that are not for the model");
  add_names("--copy", arguments->copied,
            "Columns that are written in front of the predictions, as they stand in the table");
  add_names("--keys", arguments->keys, "Only these predictions, in this order; default: all");
  command.add("--signature", arguments->signature, "Write the outputs of this signature instead of the predictions");
  command.add("--separator", arguments->separator, "The character between fields, or the word tab")
      .check([](const std::string& text) {
        if (text.size() == 1 || text == "tab") return Result<void>();
        return Result<void>(invalid_argument("one character, or tab, not \"" + text + "\""));
      })
      .shows_default();
  command.add("--missing", arguments->table.missing_text,
              "The text of a field whose value is missing, besides an empty field");
  add_table_flags(command, arguments->table);
  command.add("--batch", arguments->batch, "Rows that are computed together")
      .check(arguments::in_range(int64_t(1), int64_t(1) << 20))
      .shows_default();
  command.add_switch("--json-lines", arguments->json_lines, "One JSON object per row instead of CSV");
  add_runtime_options(command, arguments->runtime);
  command.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) { return load_and_predict(context, *arguments); };
  });
}

}  // namespace shoal::cli
