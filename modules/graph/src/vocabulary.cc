// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/vocabulary.h"

#include <functional>
#include <unordered_map>

#include "shoal/base/utf8.h"

namespace shoal {

struct Vocabulary::Ids {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> of;
};

Result<Vocabulary> Vocabulary::make(std::vector<std::string> names) {
  auto ids = std::make_shared<Ids>();
  for (size_t id = 0; id < names.size(); ++id) {
    SHOAL_TRY_VOID(check_utf8(names[id], "vocabulary: name " + std::to_string(id), kConvertToUtf8));
    if (!ids->of.emplace(names[id], int64_t(id)).second) {
      return invalid_argument("vocabulary: \"" + names[id] + "\" occurs twice");
    }
  }
  Vocabulary vocabulary;
  vocabulary.names_ = std::move(names);
  vocabulary.ids_ = std::move(ids);
  return vocabulary;
}

void Vocabulary::raise_id(int64_t id) const {
  raise(invalid_argument("vocabulary: the id " + std::to_string(id) + " does not exist; ids are 0 to " +
                         std::to_string(size() - 1)));
}

int64_t Vocabulary::find(std::string_view name) const {
  if (!ids_) return -1;  // A default-constructed, empty vocabulary.
  const auto at = ids_->of.find(name);
  return at == ids_->of.end() ? -1 : at->second;
}

}  // namespace shoal
