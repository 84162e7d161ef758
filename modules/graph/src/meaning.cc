// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/meaning.h"

#include <algorithm>
#include <charconv>

#include "shoal/base/forever.h"
#include "shoal/base/random.h"
#include "shoal/json/fields.h"
#include "shown_item.h"

namespace shoal {
namespace {

constexpr int64_t kMeaningVersion = 1;
constexpr size_t kWholeBytesMax = 4096;  // A MeaningList stores all items of a list of at most this many bytes.
constexpr size_t kFirstBytesMax = 1024;  // Of a longer list a MeaningList stores the first items, up to this many bytes.
constexpr size_t kShownMax = 8;          // An error message shows at most this many items of a list.

std::string hex_of(uint64_t number) {
  char digits[17] = "0000000000000000", text[17];
  const size_t length = size_t(std::to_chars(text, text + 16, number, 16).ptr - text);
  std::copy(text, text + length, digits + 16 - length);
  return digits;
}

std::optional<uint64_t> from_hex(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size() || hex_of(number) != text) return std::nullopt;
  return number;
}

uint64_t hash_of(std::span<const std::string> items) {
  std::string hashes;
  hashes.reserve(8 * items.size());
  for (const std::string& item : items) {
    const uint64_t hash = hash64(item);
    for (int shift = 0; shift < 64; shift += 8) hashes += char(hash >> shift & 0xff);
  }
  return hash64(hashes);
}

/// Makes `text` valid UTF-8. Returns ASCII texts, the usual case, without a conversion, to be fast: a table may have
/// 100,000 column names.
std::string clean(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return plain ? text : json::as_utf8(text);
}

json::Json json_of(const MeaningFact& fact) {
  json::Json lists = json::Json::object();
  for (const auto& [name, list] : fact.lists) {
    lists[name] = {{"count", list.count}, {"hash", hex_of(list.hash)}, {"items", list.items}};
  }
  return {{"kind", fact.kind}, {"values", fact.values}, {"lists", std::move(lists)}};
}

std::string text_of(const MeaningFact& fact) { return json::text_of(json_of(fact)); }

Result<MeaningList> list_from(const json::Json& object) {
  MeaningList list;
  SHOAL_TRY(list.count, json::whole_member<uint64_t>(object, "count"));
  SHOAL_TRY(const std::string hash, json::string_member(object, "hash"));
  const std::optional<uint64_t> number = from_hex(hash);
  if (!number) return json::must_be("hash", "16 hexadecimal digits");
  list.hash = *number;
  SHOAL_TRY(const json::Json* items, json::list_member(object, "items"));
  for (const json::Json& item : *items) {
    SHOAL_TRY(std::string text, json::string_of(item, "items"));
    list.items.push_back(std::move(text));
  }
  if (list.items.size() > list.count) return data_loss("a list has more items than its count");
  if (list.is_whole() && hash_of(list.items) != list.hash) return data_loss("the hash of a list does not fit its items");
  return list;
}

Result<MeaningFact> fact_from(const json::Json& object) {
  MeaningFact fact;
  SHOAL_TRY(fact.kind, json::string_member(object, "kind"));
  SHOAL_TRY(const json::Json* values, json::object_member(object, "values"));
  for (const auto& [name, value] : values->items()) {
    SHOAL_TRY(fact.values[name], json::string_of(value, name));
  }
  SHOAL_TRY(const json::Json* lists, json::object_member(object, "lists"));
  for (const auto& [name, list] : lists->items()) {
    SHOAL_TRY(fact.lists[name], list_from(list));
  }
  return fact;
}

}  // namespace

std::string shown_item(const std::string& item, size_t bytes_max) {
  size_t end = std::min(item.size(), bytes_max);
  while (end < item.size() && end > 0 && (static_cast<unsigned char>(item[end]) & 0xc0) == 0x80) --end;
  std::string text;
  for (const char c : item.substr(0, end)) {
    if (static_cast<unsigned char>(c) >= 0x20) {
      text += c;
    } else if (c == '\n' || c == '\t') {
      text += c == '\n' ? "\\n" : "\\t";
    } else {
      text += "\\x" + hex_of(static_cast<unsigned char>(c)).substr(14);
    }
  }
  return end < item.size() ? text + "..." : text;
}

MeaningList MeaningList::of(std::span<const std::string> items) {
  MeaningList list{.count = items.size(), .hash = hash_of(items)};
  size_t bytes = 0;
  for (const std::string& item : items) bytes += item.size();
  const size_t most = bytes <= kWholeBytesMax && items.size() <= kWholeBytesMax ? kWholeBytesMax : kFirstBytesMax;
  size_t kept = 0;
  for (const std::string& item : items) {
    kept += item.size() + (most == kFirstBytesMax ? 1 : 0);
    if (kept > most) break;
    list.items.push_back(item);
  }
  return list;
}

std::string to_string(const MeaningFact& fact) {
  std::string parts;
  const auto part = [&parts](const std::string& text) { parts += (parts.empty() ? "" : "; ") + text; };
  for (const auto& [name, list] : fact.lists) {
    std::string text = list.count == 1 ? name : std::to_string(list.count) + " " + name;
    for (size_t i = 0; i < std::min(list.items.size(), kShownMax); ++i)
      text += (i == 0 ? ": " : ", ") + shown_item(list.items[i]);
    part(list.count > kShownMax ? text + ", ..." : text);
  }
  for (const auto& [name, value] : fact.values) part(name + " " + shown_item(value));
  return parts.empty() ? fact.kind : fact.kind + " (" + parts + ")";
}

void Meaning::add(const std::string& key, MeaningFact fact) {
  fact.kind = clean(fact.kind);
  std::map<std::string, std::string> values;
  for (auto& [name, value] : fact.values) values[clean(name)] = clean(value);
  fact.values = std::move(values);
  std::map<std::string, MeaningList> lists;
  for (auto& [name, list] : fact.lists) {
    for (std::string& item : list.items) item = clean(item);
    if (list.is_whole()) list.hash = hash_of(list.items);
    lists[clean(name)] = std::move(list);
  }
  fact.lists = std::move(lists);
  if (!facts_) facts_ = make_hidden<Facts>();
  std::vector<MeaningFact>& known = (*facts_)[clean(key)];
  if (std::ranges::find(known, fact) != known.end()) return;
  const std::string text = text_of(fact);
  const auto place = std::ranges::find_if(known, [&text](const MeaningFact& other) { return text_of(other) > text; });
  known.insert(place, std::move(fact));
}

Meaning::Meaning() = default;
Meaning::Meaning(const Meaning& other) : facts_(other.facts_ ? new Facts(*other.facts_) : nullptr) {}
Meaning::Meaning(Meaning&&) noexcept = default;
Meaning& Meaning::operator=(Meaning other) noexcept {
  facts_ = std::move(other.facts_);
  return *this;
}
Meaning::~Meaning() = default;

bool Meaning::empty() const { return facts().empty(); }

const Meaning::Facts& Meaning::facts() const {
  static const Facts& none = forever(Facts());
  return facts_ ? *facts_ : none;
}

bool Meaning::has_list(const MeaningList& list) const {
  for (const auto& [key, facts] : this->facts()) {
    for (const MeaningFact& fact : facts) {
      if (std::ranges::any_of(fact.lists, [&list](const auto& named) { return named.second == list; })) return true;
    }
  }
  return false;
}

Meaning Meaning::updated_by(const Meaning& other) const {
  Facts updated = facts();
  for (const auto& [key, facts] : other.facts()) {
    std::vector<MeaningFact>& own = updated[key];
    const auto is_known = [&own](const MeaningFact& fact) { return std::ranges::find(own, fact) != own.end(); };
    if (!std::ranges::all_of(facts, is_known)) own = facts;
  }
  Meaning meaning;
  meaning.facts_ = make_hidden<Facts>(std::move(updated));
  return meaning;
}

std::string Meaning::encode() const {
  json::Json facts = json::Json::object();
  for (const auto& [key, list] : this->facts()) {
    json::Json& texts = facts[key] = json::Json::array();
    for (const MeaningFact& fact : list) texts.push_back(json_of(fact));
  }
  return json::text_of(json::Json{{"version", kMeaningVersion}, {"facts", std::move(facts)}});
}

uint64_t Meaning::hash() const { return hash64(encode()); }

Result<Meaning> Meaning::decode(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  SHOAL_TRY(const int64_t version, json::whole_member<int64_t>(object, "version"));
  if (version != kMeaningVersion) {
    return data_loss("the meaning has version " + std::to_string(version) + ", but this build reads version " +
                     std::to_string(kMeaningVersion) + "; use a newer Shoal");
  }
  SHOAL_TRY(const json::Json* facts, json::object_member(object, "facts"));
  Meaning meaning;
  for (const auto& [key, list] : facts->items()) {
    SHOAL_TRY(const json::Json* entries, json::list_of(list, "facts"));
    if (entries->empty()) return data_loss("there are no facts of \"" + key + "\"");
    for (const json::Json& entry : *entries) {
      SHOAL_TRY(MeaningFact fact, fact_from(entry));
      meaning.add(key, std::move(fact));
    }
  }
  return meaning;
}

bool operator==(const MeaningFact& a, const MeaningFact& b) {
  return a.kind == b.kind && a.values == b.values && a.lists == b.lists;
}

bool operator==(const Meaning& a, const Meaning& b) { return a.facts() == b.facts(); }

}  // namespace shoal
