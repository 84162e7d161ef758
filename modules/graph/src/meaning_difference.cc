// SPDX-License-Identifier: Apache-2.0
/// Describes in words how two models differ in what their ids and logits stand for (meaning.h).
#include <algorithm>
#include <array>

#include "shoal/base/forever.h"
#include "shoal/graph/meaning.h"
#include "shown_item.h"

namespace shoal {
namespace {

constexpr size_t kAlsoMax = 5;  // An error names at most this many changed subjects (features, heads) besides the first.
constexpr size_t kNameBytesMax = 300;

using Facts = std::vector<MeaningFact>;
const Facts& no_facts() {
  static const auto& none = forever(Facts{});
  return none;
}

/// Features come first in a comparison, since a changed input also changes the layers above it.
size_t rank_of(const std::string& key) {
  constexpr std::array<std::string_view, 5> kOrder{"features", "labels", "head", "prediction", "column"};
  const auto at = std::ranges::find(kOrder, std::string_view(key).substr(0, key.find('/')));
  return size_t(at - kOrder.begin());
}

std::string quoted(const std::string& text) { return "\"" + shown_item(text) + "\""; }

std::string listed(const Facts& facts) {
  std::string text;
  for (const MeaningFact& fact : facts) text += (text.empty() ? "" : " and ") + to_string(fact);
  return text;
}

/// Describes the difference of two lists that are called `name`: "number 0 of the words was "ash" and is "oak"".
std::string list_difference(const std::string& name, const MeaningList& was, const MeaningList& is) {
  const size_t both = std::min(was.items.size(), is.items.size());
  const size_t same = size_t(std::ranges::mismatch(was.items, is.items).in1 - was.items.begin());
  const std::string counts =
      was.count == is.count ? "" : std::to_string(was.count) + " were there and " + std::to_string(is.count) + " are";
  if (same < both) {
    return "number " + std::to_string(same) + " of the " + name + " was " + quoted(was.items[same]) + " and is " +
           quoted(is.items[same]) + (counts.empty() ? "" : ", " + counts);
  }
  return "the first " + std::to_string(same) + " of the " + name + " are the same" +
         (counts.empty() ? ", and not all that follow" : ", " + counts);
}

/// Describes the difference between two facts of one kind; empty if their to_string() texts show it already.
std::string detail(const MeaningFact& was, const MeaningFact& is) {
  for (const auto& [name, list] : was.lists) {
    const auto now = is.lists.find(name);
    if (now != is.lists.end() && now->second != list) return "; " + list_difference(name, list, now->second);
  }
  return {};
}

/// The facts of `facts` that `others` lacks.
Facts without(const Facts& facts, const Facts& others) {
  Facts left;
  for (const MeaningFact& fact : facts) {
    if (std::ranges::find(others, fact) == others.end()) left.push_back(fact);
  }
  return left;
}

std::string describe(const std::string& key, const Facts& was, const Facts& is) {
  const auto text = [](const Facts& facts) { return facts.empty() ? "not there" : listed(facts); };
  const std::string detailed = was.size() == 1 && is.size() == 1 ? detail(was[0], is[0]) : "";
  return meaning_subject(key) + ": " + text(was) + " before, " + text(is) + " now" + detailed;
}

struct Difference {
  std::string key;
  Facts was, is;
};

/// Returns the differences in the order in which an error message names them.
std::vector<Difference> differences(const Meaning& recorded, const Meaning& present, MeaningScope scope) {
  const auto facts_of = [](const Meaning& meaning, const std::string& key) -> const Facts& {
    const auto at = meaning.facts().find(key);
    return at == meaning.facts().end() ? no_facts() : at->second;
  };
  std::vector<Difference> found;
  const auto compare = [&](const std::string& key) {
    const Facts &was = facts_of(recorded, key), &is = facts_of(present, key);
    if (scope == MeaningScope::kPart && (was.empty() || is.empty())) return;
    Difference difference{key, without(was, is), without(is, was)};
    const bool some = !difference.was.empty() || !difference.is.empty();
    const bool both = !difference.was.empty() && !difference.is.empty();
    if (scope == MeaningScope::kWhole ? !some : !both) return;
    // If one model has all facts of the other and more, shows all facts of both, and not only those that differ.
    if (!both) difference = {key, was, is};
    found.push_back(std::move(difference));
  };
  for (const auto& [key, facts] : recorded.facts()) compare(key);
  for (const auto& [key, facts] : present.facts()) {
    if (!recorded.facts().contains(key)) compare(key);
  }
  std::ranges::stable_sort(found, {}, [](const Difference& one) { return rank_of(one.key); });
  return found;
}

}  // namespace

std::string meaning_subject(const std::string& key) {
  const size_t slash = key.find('/');
  const std::string part = key.substr(0, slash), name = slash == std::string::npos ? "" : key.substr(slash + 1);
  const std::string what = part == "features" ? "feature" : part;
  if (!name.empty()) return what + " \"" + shown_item(name, kNameBytesMax) + "\"";
  return part == "labels" || part == "features" || part == "head" ? "the " + what : what;
}

std::optional<std::string> meaning_difference(const Meaning& recorded, const Meaning& present, MeaningScope scope) {
  const std::vector<Difference> found = differences(recorded, present, scope);
  if (found.empty()) return std::nullopt;
  std::string text = describe(found[0].key, found[0].was, found[0].is);
  for (size_t i = 1; i < std::min(found.size(), kAlsoMax + 1); ++i) {
    text += (i == 1 ? "; also changed: " : ", ") + meaning_subject(found[i].key);
  }
  if (found.size() > kAlsoMax + 1) text += " and " + std::to_string(found.size() - kAlsoMax - 1) + " more";
  return text;
}

Result<void> compare_meaning(std::string_view recorded, const std::string& where, const Meaning& present,
                             MeaningScope scope) {
  if (recorded.empty()) return {};
  auto before = Meaning::decode(recorded);
  if (!before) return std::move(before).error().with_context(where + ": the meaning of the model");
  const std::optional<std::string> difference = meaning_difference(*before, present, scope);
  if (!difference) return {};
  return failed_precondition(where + ": its weights belong to a model with another meaning: " + *difference +
                             "; build the model as it was, use another model_dir, or set accept_changed_model "
                             "(--accept-changed-model) to go on with these weights all the same");
}

}  // namespace shoal
