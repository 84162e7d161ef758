// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The table of op_table.h while it is made.
#include <functional>
#include <map>
#include <string>

#include "cpp/op_table.h"
#include "shoal/base/check.h"

namespace shoal::convert::cpp {

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

}  // namespace shoal::convert::cpp
