// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names for ids: classes, words, categories.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal {

/// The names of the ids 0 to size - 1. Immutable; any thread may read it.
class Vocabulary {
 public:
  /// InvalidArgument, with the name, if a name occurs twice or is not UTF-8.
  static Result<Vocabulary> make(std::vector<std::string> names);

  int64_t size() const { return int64_t(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// The name of an id. Raises InvalidArgument for an id that does not exist.
  const std::string& name(int64_t id) const {
    if (id < 0 || id >= size()) [[unlikely]]
      raise_id(id);
    return names_[size_t(id)];
  }
  /// The id of a name, -1 if there is no such name.
  int64_t find(std::string_view name) const;

 private:
  [[noreturn]] void raise_id(int64_t id) const;
  struct Ids;
  std::vector<std::string> names_;
  std::shared_ptr<const Ids> ids_;  // The id of each name. Only for look-ups: the order of the map is arbitrary.
};

}  // namespace shoal
