// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A table with the functions that write each op as C++ code. A new op needs a row in the ops_*.cc of its
/// family, and perhaps a function in parts/ (parts.h).
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cpp/op_writer.h"
#include "shoal/base/check.h"

namespace shoal::convert::cpp {

struct OpRow {
  /// Writes the C++ statements that compute the outputs of the node.
  void (*write)(OpWriter& writer);
  /// The reason why a node cannot be written ("its filters are computed"); empty if it can. Null: every node can.
  std::string (*obstacle)(const OpWriter& writer) = nullptr;
};

/// The row of an op; null if there is none.
const OpRow* find_row(std::string_view op);

/// Collects the rows of the table while it is built.
class OpRows {
 public:
  void add(std::string_view op, OpRow row) { SHOAL_CHECK(rows_.emplace(std::string(op), row).second); }
  const OpRow* find(std::string_view op) const {
    const auto found = rows_.find(op);
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, OpRow, std::less<>> rows_;
};
void add_elementwise_rows(OpRows& rows);
void add_product_rows(OpRows& rows);
void add_convolution_rows(OpRows& rows);
void add_normalization_rows(OpRows& rows);
void add_reduction_rows(OpRows& rows);
void add_arrange_rows(OpRows& rows);
void add_sequence_rows(OpRows& rows);
void add_id_rows(OpRows& rows);

}  // namespace shoal::convert::cpp
