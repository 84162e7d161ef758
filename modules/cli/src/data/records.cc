// SPDX-License-Identifier: Apache-2.0
#include "data/records.h"

#include <algorithm>
#include <unordered_set>

#include "data/json_cells.h"
#include "shoal/base/environment.h"
#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/data/array_rows.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/csv_reader.h"
#include "shoal/data/dataset.h"
#include "shoal/data/images.h"
#include "shoal/data/tf_example.h"

namespace shoal::cli {
namespace {

using data::FileFormat;

constexpr auto kImageFolder = "image-folder";

void tell(Environment& env, const std::optional<std::string>& remark) {
  if (remark) env.log().warning_once(*remark, *remark);
}

void fill_text(Cell& cell, const std::string& name, const std::string& text) {
  cell.begin(name);
  cell.kind = Cell::Kind::kTexts;
  cell.type = "text";
  cell.texts.push_back(text);
}

class CsvRecords final : public Records {
 public:
  static Result<std::unique_ptr<Records>> open(Environment& env, const std::string& path, const data::CsvForm& form,
                                               const data::CsvOptions& table) {
    data::CsvOptions options = table;
    options.separator = form.separator;
    options.by_position = true;  // The names of the columns are not those of the header.
    // The first record determines the number of columns and, if it is a header, their names.
    SHOAL_TRY(data::CsvReader first, data::CsvReader::open(env.storage(), path, options));
    SHOAL_TRY(std::vector<std::string> names, form.has_header ? first.header() : first.fields());
    if (names.empty()) return std::make_unique<CsvRecords>(env, std::move(first), std::move(names), table.missing_text);
    SHOAL_TRY(data::CsvReader reader, data::CsvReader::open(env.storage(), path, options));
    if (form.has_header) {
      SHOAL_TRY(names, reader.header());
    } else {
      for (size_t i = 0; i < names.size(); ++i) names[i] = "column " + std::to_string(i + 1);
    }
    std::unordered_set<std::string> taken;  // Used for look-ups only, so no output depends on its order.
    for (size_t i = 0; i < names.size(); ++i) {
      if (!taken.insert(names[i]).second) names[i] += " (column " + std::to_string(i + 1) + ")";
    }
    std::vector<data::CsvColumn> columns(names.size());
    for (size_t i = 0; i < names.size(); ++i) columns[i].name = key_of(i);
    SHOAL_TRY_VOID(reader.expect(columns));
    return std::make_unique<CsvRecords>(env, std::move(reader), std::move(names), table.missing_text);
  }
  CsvRecords(Environment& env, data::CsvReader reader, std::vector<std::string> names, std::string missing)
      : env_(env), reader_(std::move(reader)), names_(std::move(names)), missing_(std::move(missing)) {}

  Result<bool> next(std::vector<Cell>& cells) override {
    bool more = false;
    if (!names_.empty()) {
      SHOAL_TRY(more, reader_.next(element_));
    }
    if (!more) {
      tell(env_, reader_.remark());
      return false;
    }
    cells.resize(names_.size());
    size_t i = 0;
    for (const auto& [key, field] : element_.features) {
      Cell& cell = cells[i];
      fill_text(cell, names_[i++], field.strings()[0]);
      const data::ParsedCsvField parsed = data::parse_csv_field(cell.texts[0], missing_);
      if (parsed.kind == data::CsvFieldKind::kText) continue;
      cell.kind = parsed.kind == data::CsvFieldKind::kMissing ? Cell::Kind::kMissing : Cell::Kind::kNumbers;
      cell.type = parsed.kind == data::CsvFieldKind::kWhole      ? "int64"
                  : parsed.kind == data::CsvFieldKind::kFraction ? "float32"
                                                                 : "";
      if (cell.kind == Cell::Kind::kMissing) {
        cell.texts.clear();
      } else {
        cell.numbers.push_back(parsed.number);
      }
    }
    return true;
  }

 private:
  /// An internal name for the column with this number. Elements sort their columns by name, and these names keep the order
  /// of the table.
  static std::string key_of(size_t column) {
    const std::string digits = std::to_string(column);
    return std::string(12 - digits.size(), '0') + digits;
  }

  Environment& env_;
  data::CsvReader reader_;
  const std::vector<std::string> names_;
  const std::string missing_;
  data::Element element_;
};

/// Reads the elements of a dataset as records. `fill` makes the cells of a record from an element. It returns false for an
/// element that has to be skipped.
class DatasetRecords final : public Records {
 public:
  using Fill = std::function<Result<bool>(const data::Element& element, std::vector<Cell>& cells)>;
  static Result<std::unique_ptr<Records>> open(Environment& env, const data::Dataset& dataset, Fill fill) {
    SHOAL_TRY(std::unique_ptr<data::Iterator> iterator, dataset.iterate(env));
    return std::make_unique<DatasetRecords>(std::move(iterator), std::move(fill));
  }
  DatasetRecords(std::unique_ptr<data::Iterator> iterator, Fill fill)
      : iterator_(std::move(iterator)), fill_(std::move(fill)) {}

  Result<bool> next(std::vector<Cell>& cells) override {
    for (;;) {
      SHOAL_TRY(const bool more, iterator_->next(element_));
      if (!more) return false;
      SHOAL_TRY(const bool filled, fill_(element_, cells));
      if (filled) return true;
    }
  }

 private:
  std::unique_ptr<data::Iterator> iterator_;
  Fill fill_;
  data::Element element_;
};

class ArrayRecords final : public Records {
 public:
  ArrayRecords(Environment& env, std::vector<data::ArrayRows> arrays, bool together)
      : env_(env), arrays_(std::move(arrays)), together_(together) {}

  Result<bool> next(std::vector<Cell>& cells) override {
    while (!together_ && at_ < arrays_.size()) {
      cells.resize(1);
      SHOAL_TRY(const bool more, fill(arrays_[at_], cells[0]));
      if (more) return true;
      ++at_;
    }
    if (!together_) return false;
    cells.resize(arrays_.size());
    bool any = false;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      SHOAL_TRY(const bool more, fill(arrays_[i], cells[i]));
      any = any || more;
    }
    return any;
  }

 private:
  Result<bool> fill(data::ArrayRows& array, Cell& cell) {
    SHOAL_TRY(const bool more, array.next(row_));
    if (more) {
      fill_cell(cell, array.name(), row_, array.type(), row_.shape().rank() > 0);
    } else {
      tell(env_, array.remark());
    }
    return more;
  }

  Environment& env_;
  std::vector<data::ArrayRows> arrays_;
  const bool together_;
  size_t at_ = 0;  // The index of the current array, if arrays are read one after another.
  Tensor row_;
};

/// Reads the images of a folder, or one image file.
class PictureRecords final : public Records {
 public:
  PictureRecords(Storage& storage, data::ImageFolder folder, bool decodes)
      : storage_(storage), folder_(std::move(folder)), decodes_(decodes) {}

  Result<bool> next(std::vector<Cell>& cells) override {
    if (at_ >= folder_.paths.size()) return false;
    cells.resize(size_t(decodes_) + (folder_.labels.empty() ? 0 : 2));
    size_t i = 0;
    if (!folder_.labels.empty()) {
      fill_text(cells[i++], "class", folder_.classes[size_t(folder_.labels[at_])]);
      fill_text(cells[i++], "path", folder_.paths[at_]);
    }
    if (decodes_) {
      SHOAL_TRY(const Tensor image, data::read_image(storage_, folder_.paths[at_]));
      fill_cell(cells[i], "image", image, "uint8", true);
    }
    ++at_;
    return true;
  }

 private:
  Storage& storage_;
  const data::ImageFolder folder_;
  const bool decodes_;
  size_t at_ = 0;
};

data::Dataset lines_of(const std::string& path, const data::CsvOptions& table) {
  return data::Dataset::text_lines({path}, {.header_lines = table.header_lines, .line_bytes_max = table.line_bytes_max});
}

Result<std::unique_ptr<Records>> open_json_lines(Environment& env, const std::string& path, const data::CsvOptions& table) {
  const auto parser = std::make_shared<JsonCells>();
  const auto number = std::make_shared<int64_t>(table.header_lines);
  const auto fill = [path, parser, number](const data::Element& line, std::vector<Cell>& cells) -> Result<bool> {
    ++*number;
    const std::string& text = line.features.single().strings()[0];
    if (text.find_first_not_of(" \t\r") == std::string::npos) return false;
    auto parsed = parser->parse(text, cells);
    if (!parsed) return std::move(parsed).error().with_context(path + ", line " + std::to_string(*number));
    return true;
  };
  return DatasetRecords::open(env, lines_of(path, table), fill);
}

Result<std::unique_ptr<Records>> open_tf_records(Environment& env, const std::string& path, bool examples) {
  const auto number = std::make_shared<int64_t>(0);
  const auto fill = [path, examples, number](const data::Element& record, std::vector<Cell>& cells) -> Result<bool> {
    ++*number;
    if (!examples) {
      cells.resize(1);
      fill_cell(cells[0], "", record.features.single(), "bytes", false);
      cells[0].kind = Cell::Kind::kBytes;
      return true;
    }
    auto tensors = data::tf_example_tensors(record.features.single().strings()[0]);
    if (!tensors) return std::move(tensors).error().with_context(path + ", record " + std::to_string(*number));
    cells.resize(tensors->size());
    size_t i = 0;
    for (const auto& [name, values] : *tensors) {
      const bool is_text = values.dtype() == DType::kString;
      fill_cell(cells[i++], name, values, is_text ? "" : std::string(to_string(values.dtype())), true);
    }
    return true;
  };
  return DatasetRecords::open(env, data::Dataset::tf_records({path}), fill);
}

Result<std::unique_ptr<Records>> open_elements(Environment& env, const data::Dataset& dataset) {
  return DatasetRecords::open(env, dataset, [](const data::Element& element, std::vector<Cell>& cells) -> Result<bool> {
    cells.resize(element.features.size());
    size_t i = 0;
    for (const auto& [name, value] : element.features) fill_cell(cells[i++], name, value, "", false);
    return true;
  });
}

Result<void> open_arrays(Environment& env, FileFormat format, OpenedFile& file) {
  SHOAL_TRY(std::vector<data::ArrayRows> arrays, data::ArrayRows::open(env.storage(), file.path, format));
  for (const data::ArrayRows& array : arrays) {
    file.records_have_all_fields = file.records_have_all_fields && array.rows() == arrays.front().rows();
    const auto dims = array.shape().dims();
    file.arrays.push_back({array.name(), array.type(), {dims.begin(), dims.end()}});
  }
  file.records = std::make_unique<ArrayRecords>(env, std::move(arrays), file.records_have_all_fields);
  return {};
}

Result<void> open_folder(Storage& storage, const ReadChoice& choice, OpenedFile& file) {
  file.format = kImageFolder;
  SHOAL_TRY(data::ImageFolder folder, data::images_by_class(storage, file.path));
  file.pictures = folder;
  file.records = std::make_unique<PictureRecords>(storage, std::move(folder), choice.decodes_pictures);
  return {};
}

Error no_such_format(const std::string& name) {
  std::vector<std::string> names{kImageFolder};
  for (int i = 0; i <= int(FileFormat::kImage); ++i) names.emplace_back(data::to_string(FileFormat(i)));
  return invalid_argument("--format " + name + ": there is no such format; there are " + comma_separated(names) +
                          did_you_mean(name, names));
}

}  // namespace

Result<OpenedFile> open_records(Environment& env, const std::string& path, const ReadChoice& choice) {
  Storage& storage = env.storage();
  OpenedFile file{.path = path, .format = choice.format, .records = nullptr};
  const bool is_folder = storage.list(path).has_value();
  if (choice.format == kImageFolder || (choice.format.empty() && is_folder)) {
    SHOAL_TRY_VOID(open_folder(storage, choice, file));
    return file;
  }
  data::RecognisedFile recognised;
  if (choice.format.empty()) {
    SHOAL_TRY(recognised, data::recognise_file(storage, path, choice.table));
  } else {
    const auto named = data::file_format_from(choice.format);
    if (!named) return no_such_format(choice.format);
    recognised.format = *named;
  }
  if (choice.separator && recognised.format == FileFormat::kText && choice.format.empty())
    recognised.format = FileFormat::kCsv;
  if (recognised.format == FileFormat::kText && !recognised.remark.empty()) tell(env, path + ": " + recognised.remark);
  file.format = std::string(data::to_string(recognised.format));
  switch (recognised.format) {
    case FileFormat::kCsv: {
      SHOAL_TRY(recognised.csv, data::infer_csv_form(storage, path, choice.separator, choice.table));
      if (choice.header) recognised.csv.has_header = *choice.header;
      file.csv = recognised.csv;
      SHOAL_TRY(file.records, CsvRecords::open(env, path, recognised.csv, choice.table));
      return file;
    }
    case FileFormat::kJsonLines: {
      SHOAL_TRY(file.records, open_json_lines(env, path, choice.table));
      return file;
    }
    case FileFormat::kTfExample:
    case FileFormat::kTfRecord: {
      SHOAL_TRY(file.records, open_tf_records(env, path, recognised.format == FileFormat::kTfExample));
      return file;
    }
    case FileFormat::kTar: {
      SHOAL_TRY(file.records, open_elements(env, data::Dataset::tar_samples({path})));
      return file;
    }
    case FileFormat::kNpy:
    case FileFormat::kNpz:
    case FileFormat::kIdx: {
      SHOAL_TRY_VOID(open_arrays(env, recognised.format, file));
      return file;
    }
    case FileFormat::kImage: {
      file.records =
          std::make_unique<PictureRecords>(storage, data::ImageFolder{.classes = {}, .paths = {path}, .labels = {}}, true);
      return file;
    }
    case FileFormat::kText: break;
  }
  SHOAL_TRY(file.records, open_elements(env, lines_of(path, choice.table)));
  return file;
}

}  // namespace shoal::cli
