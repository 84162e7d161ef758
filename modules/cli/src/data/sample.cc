// SPDX-License-Identifier: Apache-2.0
// Implements `shoal data sample FILE...`.
#include <algorithm>

#include "data/data_commands.h"
#include "data/picture.h"
#include "json_out.h"
#include "safe_text.h"
#include "shoal/arguments/command.h"
#include "shoal/base/random.h"
#include "shoal/data/images.h"
#include "shoal/json/values.h"

namespace shoal::cli {
namespace {

constexpr int64_t kSampleMax = 10'000;
constexpr size_t kShownValues = 12;

struct SampleArguments : DataArguments {
  int64_t count = 5;
  int64_t seed = 0;
  bool first = false;
};

struct Sampled {
  int64_t number = 0;  ///< The number of the record, counted over all files.
  std::string path;
  std::vector<Cell> cells;
};

Json value_json(const Cell& cell, size_t i) {
  if (cell.kind == Cell::Kind::kBytes) return Json{{"bytes", cell.texts[i].size()}};
  if (cell.type == kJsonType) return json::parse_in_order(cell.texts[i]);
  if (cell.kind == Cell::Kind::kTexts || cell.numbers.empty()) return cell.texts[i];
  if (cell.type == "bool") return cell.numbers[i] != 0;
  // A whole number of a text file may have more digits than a double holds.
  const bool whole = cell.type == "int64" && i < cell.texts.size();
  if (whole)
    return json::parse_in_order(cell.texts[i]).is_number() ? json::parse_in_order(cell.texts[i]) : Json(cell.texts[i]);
  return json::number_json(cell.numbers[i]);
}

/// The values of a list from `at` on, as the lists of this axis and those in them. Moves `at` behind them.
Json list_json(const Cell& cell, size_t axis, size_t& at) {
  Json list = Json::array();
  for (int64_t i = 0; i < cell.shape[axis]; ++i) {
    list.push_back(axis + 1 < cell.shape.size() ? list_json(cell, axis + 1, at) : value_json(cell, at++));
  }
  return list;
}

Json cell_json(const Cell& cell) {
  if (cell.kind == Cell::Kind::kMissing) return nullptr;
  if (cell.tensor) return json::values_json(*cell.tensor);
  if (!cell.is_list) return value_json(cell, 0);
  size_t at = 0;
  return list_json(cell, 0, at);
}

/// The picture in a cell: its tensor, or an image file in its bytes. Nothing for a damaged image, which is shown as bytes.
std::optional<Tensor> picture_in(const Cell& cell) {
  if (cell.tensor && is_picture(*cell.tensor)) return cell.tensor;
  if (cell.kind != Cell::Kind::kBytes || cell.texts.size() != 1 || !is_image(cell.texts[0])) return std::nullopt;
  Result<Tensor> image = data::decode_image(cell.texts[0], {.channels = 3});
  return image && is_picture(*image) ? std::optional(*std::move(image)) : std::nullopt;
}

std::string value_text(const Cell& cell, size_t i) {
  if (cell.kind == Cell::Kind::kBytes) return std::to_string(cell.texts[i].size()) + " bytes";
  if (cell.kind == Cell::Kind::kTexts) return shown(cell.texts[i], 200);
  if (cell.tensor) return json::text_of(json::element_json(*cell.tensor, int64_t(i)));
  return cell.texts[i];
}

void print_cell(TextOutput& out, const Cell& cell, int columns) {
  out << "  " << (cell.name.empty() ? "" : shown(cell.name) + ": ");
  if (cell.kind == Cell::Kind::kMissing) {
    out << "missing\n";
    return;
  }
  if (const std::optional<Tensor> picture = picture_in(cell)) {
    const auto dims = picture->shape().dims();
    out << "picture " << shape_text({dims.begin(), dims.end()}) << '\n' << picture_text(*picture, columns);
    return;
  }
  if (!cell.is_list) {
    out << value_text(cell, 0) << '\n';
    return;
  }
  out << shape_text(cell.shape);
  for (size_t i = 0; i < std::min(cell.values(), kShownValues); ++i) out << ' ' << value_text(cell, i);
  out << (cell.values() > kShownValues ? " ...\n" : "\n");
}

Result<int> sample(Context& context, const SampleArguments& arguments) {
  std::vector<Sampled> sampled;
  RandomStream random(fold_in(RandomKey(arguments.seed), "shoal data sample"));
  std::string path;
  int64_t records = 0;
  const auto take = [&](const std::vector<Cell>& cells, int64_t number) -> Result<void> {
    records = number + 1;
    if (int64_t(sampled.size()) < arguments.count) {
      sampled.push_back({number, path, cells});
      return {};
    }
    if (arguments.first) return Error(ErrorKind::kCancelled, "enough");
    // Source: algorithm R, by Waterman, in Vitter, "Random sampling with a reservoir" (ACM TOMS 11, 1985).
    const uint64_t place = random.below(uint64_t(number) + 1);
    if (place < uint64_t(arguments.count)) sampled[place] = {number, path, cells};
    return {};
  };
  const auto begin = [&](OpenedFile& file) -> Result<void> {
    path = file.path;
    return {};
  };
  const auto walked = for_each_record(context, arguments, arguments.read, begin, take);
  const bool has_enough = arguments.first && int64_t(sampled.size()) == arguments.count;
  if (!walked && !has_enough) return walked.error();
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < sampled.size(); ++i) order.emplace_back(sampled[i].number, i);
  std::sort(order.begin(), order.end());
  Json elements = Json::array();
  for (const auto& [number, place] : order) {
    const Sampled& one = sampled[place];
    if (!arguments.json) {
      context.out << "record " << number << (arguments.files.size() > 1 ? " (" + clean_text(one.path) + ")" : "") << '\n';
      for (const Cell& cell : one.cells) print_cell(context.out, cell, context.terminals.columns);
      continue;
    }
    Json values = Json::object();
    for (const Cell& cell : one.cells) values[cell.name] = cell_json(cell);
    elements.push_back(Json{{"record", number}, {"file", one.path}, {"values", std::move(values)}});
  }
  if (!arguments.json) return 0;
  Json json{{"sample", std::move(elements)}};
  if (walked) json["records"] = records;
  print(context, json);
  return 0;
}

}  // namespace

void add_sample(arguments::Command& data, Action& selected) {
  arguments::Command& command = data.add_command(
      "sample", "Some records, drawn at random from all files, each as likely as any other; pictures as characters");
  const auto arguments = std::make_shared<SampleArguments>();
  add_data_arguments(command, *arguments);
  command.add("-n,--count", arguments->count, "How many")
      .check(arguments::in_range(int64_t(1), kSampleMax))
      .shows_default();
  command.add("--seed", arguments->seed, "The same seed draws the same records of the same files").shows_default();
  command.add_switch("--first", arguments->first, "The first ones instead; the rest is not read").excludes("--seed");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return sample(context, *arguments); }; });
}

}  // namespace shoal::cli
