#pragma once
/// Class names. Strings never enter a graph: labels become ids before they are fed, ids become names after they are
/// fetched.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::nn {

/// Names of the ids 0 to size - 1. Immutable; any thread may read it.
class Vocabulary {
 public:
  /// InvalidArgument if a name occurs twice, naming it.
  static Result<Vocabulary> make(std::vector<std::string> names);

  int64_t size() const { return int64_t(names_.size()); }
  const std::string& name(int64_t id) const { return names_[size_t(id)]; }
  /// The id of a name, -1 if there is none.
  int64_t find(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;  // Looked up only, never walked.
};

}  // namespace shoal::nn
