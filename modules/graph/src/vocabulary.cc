// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/vocabulary.h"

#include "shoal/base/utf8.h"

namespace shoal {

Result<Vocabulary> Vocabulary::make(std::vector<std::string> names) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < names.size(); ++id) {
    SHOAL_TRY_VOID(check_utf8(names[id], "vocabulary: name " + std::to_string(id), kConvertToUtf8));
    if (!vocabulary.ids_.emplace(names[id], int64_t(id)).second) {
      return invalid_argument("vocabulary: \"" + names[id] + "\" occurs twice");
    }
  }
  vocabulary.names_ = std::move(names);
  return vocabulary;
}

void Vocabulary::raise_id(int64_t id) const {
  raise(invalid_argument("vocabulary: there is no name of id " + std::to_string(id) + "; ids are 0 to " +
                         std::to_string(size() - 1)));
}

int64_t Vocabulary::find(std::string_view name) const {
  const auto at = ids_.find(name);
  return at == ids_.end() ? -1 : at->second;
}

}  // namespace shoal
