// SPDX-License-Identifier: Apache-2.0
#include "job/resolvers/node_list.h"

#include <algorithm>

#include "job/quote.h"
#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

Error nonsense(std::string_view text, size_t at, std::string_view what) {
  return invalid_argument(in_quotes(text) + ", character " + std::to_string(at + 1) + ": " + std::string(what));
}

/// The alternatives for one piece of a name: a single text, or all texts that a pair of brackets lists.
using Choices = std::vector<std::string>;

/// Reads one node list from its first to its last character.
class NodeListReader {
 public:
  explicit NodeListReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> read() {
    if (text_.empty()) return nonsense(text_, 0, "there is no node");
    do {
      SHOAL_TRY_VOID(read_item());
    } while (take(','));
    return std::move(nodes_);
  }

 private:
  /// Reads one item of the list, a host name that may have numbers in brackets ("n[1-3]"), and adds the hosts' names.
  Result<void> read_item() {
    const size_t begin = at_;
    std::vector<Choices> places;
    while (at_ < text_.size() && text_[at_] != ',') {
      if (take('[')) {
        SHOAL_TRY(Choices choices, read_brackets());
        places.push_back(std::move(choices));
        continue;
      }
      const size_t end = std::min(text_.find_first_of(",[", at_), text_.size());
      const std::string_view plain = text_.substr(at_, end - at_);
      const auto is_bad = [](unsigned char c) { return c <= 0x20 || c == 0x7F || c == ']' || c == '/' || c == ':'; };
      const auto bad = std::find_if(plain.begin(), plain.end(), is_bad);
      if (bad != plain.end()) return nonsense(text_, at_ + size_t(bad - plain.begin()), "no part of a node's name");
      places.push_back({std::string(plain)});
      at_ = end;
    }
    if (places.empty()) return nonsense(text_, begin, "a node's name is missing");
    return expand(places);
  }

  /// Reads what follows a "[", such as "1-3,07]".
  Result<Choices> read_brackets() {
    Choices choices;
    do {
      SHOAL_TRY(const std::string_view first, read_digits());
      std::string_view last = first;
      if (take('-')) {
        SHOAL_TRY(last, read_digits());
      }
      SHOAL_TRY_VOID(add_range(first, last, choices));
    } while (take(','));
    if (!take(']')) return nonsense(text_, at_, "a closing bracket is missing");
    return choices;
  }

  Result<std::string_view> read_digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == begin) return nonsense(text_, begin, "a number is missing");
    return text_.substr(begin, at_ - begin);
  }

  Result<void> add_range(std::string_view first, std::string_view last, Choices& choices) {
    const auto from = number_from<uint64_t>(first), to = number_from<uint64_t>(last);
    if (!from || !to) return nonsense(text_, at_, "a number is too large");
    if (*to < *from) return nonsense(text_, at_, "a range goes down");
    if (*to - *from >= kNodesMax - std::min(kNodesMax, choices.size())) return too_many();
    if (first.size() > kWidthMax) return nonsense(text_, at_, "a number is too long");
    const size_t width = first.front() == '0' ? first.size() : 1;
    for (uint64_t i = *from; i <= *to; ++i) {
      std::string digits = std::to_string(i);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      choices.push_back(std::move(digits));
      if (i == *to) break;  // *to may be the largest number of its type: ++i would wrap around.
    }
    return {};
  }

  /// Adds every name that takes one text from each of `places`: {"n"} and {"1", "2"} give "n1" and "n2".
  Result<void> expand(const std::vector<Choices>& places) {
    uint64_t count = 1;
    for (const Choices& choices : places) {
      count *= choices.size();  // Neither factor exceeds kNodesMax: the product cannot overflow.
      if (count > kNodesMax - nodes_.size()) return too_many();
    }
    std::vector<size_t> chosen(places.size(), 0);
    for (uint64_t i = 0; i < count; ++i) {
      std::string name;
      for (size_t place = 0; place < places.size(); ++place) name += places[place][chosen[place]];
      bytes_ += name.size();
      if (bytes_ > kNodeNamesBytesMax) return too_many();
      nodes_.push_back(std::move(name));
      for (size_t place = places.size(); place-- > 0 && ++chosen[place] == places[place].size();) chosen[place] = 0;
    }
    return {};
  }

  Error too_many() const {
    return invalid_argument(in_quotes(text_) + ": more than " + std::to_string(kNodesMax) + " nodes, or too long names");
  }

  bool take(char c) {
    const bool there = at_ < text_.size() && text_[at_] == c;
    if (there) ++at_;
    return there;
  }

  static constexpr size_t kWidthMax = 20;
  const std::string_view text_;
  size_t at_ = 0;
  size_t bytes_ = 0;
  std::vector<std::string> nodes_;
};

}  // namespace

Result<std::vector<std::string>> parse_node_list(std::string_view text) { return NodeListReader(text).read(); }

Result<std::vector<int32_t>> parse_task_counts(std::string_view text) {
  const auto wrong = [text](std::string_view item) {
    return invalid_argument(in_quotes(text) + ": " + in_quotes(item) + " is neither a count nor one as 4(x3)");
  };
  std::vector<int32_t> counts;
  std::string_view rest = text;
  for (;;) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t bracket = item.find("(x");
    const auto count = number_from<int32_t>(item.substr(0, bracket));
    std::optional<int32_t> nodes = 1;
    if (bracket != std::string_view::npos) {
      if (!item.ends_with(')')) return wrong(item);
      nodes = number_from<int32_t>(item.substr(bracket + 2, item.size() - bracket - 3));
    }
    if (!count || !nodes || *count < 0 || *nodes < 1) return wrong(item);
    if (size_t(*nodes) > kNodesMax - counts.size()) {
      return invalid_argument(in_quotes(text) + ": more than " + std::to_string(kNodesMax) + " nodes");
    }
    counts.insert(counts.end(), size_t(*nodes), *count);
    if (comma == std::string_view::npos) return counts;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace shoal::cluster
