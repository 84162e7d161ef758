// SPDX-License-Identifier: Apache-2.0
#include "cpp/op_table.h"

#include "shoal/base/forever.h"

namespace shoal::convert::cpp {

const OpRow* find_row(std::string_view op) {
  static const auto& rows = forever([] {
    OpRows made;
    add_elementwise_rows(made);
    add_product_rows(made);
    add_convolution_rows(made);
    add_normalization_rows(made);
    add_reduction_rows(made);
    add_arrange_rows(made);
    add_sequence_rows(made);
    add_id_rows(made);
    return made;
  }());
  return rows.find(op);
}

}  // namespace shoal::convert::cpp
