// SPDX-License-Identifier: Apache-2.0
// Implements `shoal data describe FILE...`.
#include <map>

#include "data/data_commands.h"
#include "data/field_json.h"
#include "json_out.h"
#include "safe_text.h"
#include "shoal/arguments/command.h"

namespace shoal::cli {
namespace {

constexpr SummaryBounds kBounds{.fields_max = 100'000};

/// The number of images of each class, in the order of the labels.
std::vector<int64_t> class_counts(const data::ImageFolder& pictures) {
  std::vector<int64_t> counts(pictures.classes.size());
  for (const int64_t label : pictures.labels) ++counts[size_t(label)];
  return counts;
}

Json json_of(const OpenedFile& file, const FieldSummaries& found) {
  Json json{{"path", file.path}, {"format", file.format}, {"records", found.records()}};
  if (file.csv) {
    json["separator"] = std::string(1, file.csv->separator);
    json["header"] = file.csv->has_header;
  }
  if (file.pictures) {
    Json classes = Json::array();
    const std::vector<int64_t> counts = class_counts(*file.pictures);
    for (size_t i = 0; i < counts.size(); ++i)
      classes.push_back(Json{{"name", file.pictures->classes[i]}, {"count", counts[i]}});
    json["classes"] = std::move(classes);
    json["passed_over"] = file.pictures->passed_over_count;
  }
  if (!file.arrays.empty()) {
    Json arrays = Json::array();
    for (const ArrayText& array : file.arrays) {
      arrays.push_back(Json{{"name", array.name}, {"type", array.type}, {"shape", array.shape}});
    }
    json["arrays"] = std::move(arrays);
  }
  Json fields = Json::array();
  for (const FieldSummary& field : found.fields()) fields.push_back(field_json(field, file, found.records()));
  json["fields"] = std::move(fields);
  return json;
}

void print_text(TextOutput& out, const OpenedFile& file, const FieldSummaries& found) {
  out << clean_text(file.path) << ": " << file.format << ", " << found.records() << " records";
  if (file.csv && file.csv->separator != ',') out << ", separator " << shown(std::string(1, file.csv->separator));
  if (file.csv && !file.csv->has_header) out << ", no header";
  out << '\n';
  if (file.pictures) {
    const std::vector<int64_t> counts = class_counts(*file.pictures);
    for (size_t i = 0; i < counts.size(); ++i)
      out << "  class " << shown(file.pictures->classes[i]) << ": " << counts[i] << '\n';
    if (file.pictures->passed_over_count > 0) {
      out << "  " << file.pictures->passed_over_count << " other files and folders are passed over\n";
    }
    return;
  }
  for (const ArrayText& array : file.arrays) {
    out << "  array" << (array.name.empty() ? "" : " ") << (array.name.empty() ? "" : shown(array.name)) << ": "
        << array.type << ' ' << shape_text(array.shape) << '\n';
  }
  for (const FieldSummary& field : found.fields()) {
    out << "  " << field_title(field.name) << ": " << field_text(field, file, found.records()) << '\n';
  }
}

Result<int> describe(Context& context, const DataArguments& arguments) {
  Json files = Json::array();
  ReadChoice read = arguments.read;
  read.decodes_pictures = false;
  for (const std::string& path : arguments.files) {
    FieldSummaries found(kBounds);
    OpenedFile opened;
    SHOAL_TRY_VOID(for_each_record(
        context, {.files = {path}}, read,
        [&](OpenedFile& file) -> Result<void> {
          opened = {.path = file.path,
                    .format = file.format,
                    .records = nullptr,
                    .arrays = file.arrays,
                    .pictures = file.pictures,
                    .csv = file.csv,
                    .records_have_all_fields = file.records_have_all_fields};
          return {};
        },
        [&](const std::vector<Cell>& cells, int64_t) { return found.add(cells); }));
    if (arguments.json) {
      files.push_back(json_of(opened, found));
    } else {
      print_text(context.out, opened, found);
    }
  }
  if (arguments.json) print(context, Json{{"files", std::move(files)}});
  return 0;
}

}  // namespace

void add_describe(arguments::Command& data, Action& selected) {
  arguments::Command& command =
      data.add_command("describe",
                       "What is in files: format, number of records, and of each field type, range, "
                       "lengths and gaps; reads all of each file");
  const auto arguments = std::make_shared<DataArguments>();
  add_data_arguments(command, *arguments);
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return describe(context, *arguments); }; });
}

}  // namespace shoal::cli
