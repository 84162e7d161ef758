// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tests of checkpoints that share files have in common: a model whose table changes by rows.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "fixture.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {

inline constexpr char kDir[] = "m";

/// A table of rows of 8 floats, its slot, and a bias that changes with every save.
struct Model {
  explicit Model(int64_t rows) : table(size_t(rows * 8), 1.0f), slot(table.size(), 0.0f) {}
  void set_row(int64_t row, float value) { std::fill_n(table.begin() + row * 8, 8, value); }
  std::vector<float> table, slot;
  std::vector<float> bias{0, 0, 0};
};

/// Saves `model` in parts of `part` bytes.
inline Result<Saved> save_model(Storage& storage, int64_t step, Model& model, std::optional<Sharing> sharing,
                                size_t part = 1000, const std::string& folder = kDir, int64_t keep_max = 3) {
  std::fill(model.bias.begin(), model.bias.end(), float(step));
  ArenaLayout layout;
  std::string arena;
  const auto add = [&](const std::string& name, const std::vector<float>& values, int64_t columns,
                       const std::string& slot_of) {
    const Shape shape = columns == 0 ? Shape{int64_t(values.size())} : Shape{int64_t(values.size()) / columns, columns};
    layout.segments.push_back(
        {.name = name, .shape = shape, .slot_of = slot_of, .offset = arena.size(), .changes_little = true});
    arena.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    arena.resize((arena.size() + 63) / 64 * 64, 'x');  // Padding is nobody's.
  };
  add("table", model.table, 8, "");
  add("bias", model.bias, 0, "");
  add("table/m", model.slot, 8, "table");
  layout.bytes = arena.size();
  SHOAL_TRY(auto writer, Writer::begin(storage, folder, step, Writer::Folder::kMadeIfMissing, sharing));
  SHOAL_TRY(const int number, writer->add_arena(layout));
  for (size_t at = 0; at < arena.size(); at += part) {
    SHOAL_TRY_VOID(writer->append(number, std::as_bytes(std::span(arena).subspan(at, std::min(part, arena.size() - at)))));
  }
  return writer->commit({}, {.keep_max = keep_max});
}

inline bool same(const Tensor& a, const std::vector<float>& b) {
  return a.bytes() == b.size() * sizeof(float) && std::memcmp(a.view().data, b.data(), a.bytes()) == 0;
}

/// The checkpoint `name` is intact and has the model's values.
inline void expect_holds(Storage& storage, const std::string& name, const Model& model) {
  SCOPED_TRACE(name);
  const auto reader = Reader::open(storage, join_path(kDir, name));
  ASSERT_OK(reader);
  ASSERT_OK((*reader)->verify());
  const auto table = (*reader)->read_tensor("table"), slot = (*reader)->read_tensor("table/m"),
             bias = (*reader)->read_tensor("bias");
  ASSERT_OK(table);
  ASSERT_OK(slot);
  ASSERT_OK(bias);
  EXPECT_TRUE(same(*table, model.table));
  EXPECT_TRUE(same(*slot, model.slot));
  EXPECT_TRUE(same(*bias, model.bias));
}

inline constexpr Sharing kFromOneKilobyte{.bytes_min = 1000};

}  // namespace shoal::checkpoint
