// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/json/json.h"
#include "shoal/json/text.h"

namespace shoal::json {
namespace {

/// Keeps the keys of all open objects, to find a key that occurs twice in one object.
class Keys {
 public:
  void begin_object() { objects_.push_back(keys_.size()); }
  void add(std::string_view key) {
    keys_.push_back({text_.size(), key.size()});
    text_ += key;
  }
  /// Ends the innermost object. Returns a key that the object has twice, if there is one.
  std::optional<std::string> end_object() {
    const auto begin = keys_.begin() + ptrdiff_t(objects_.back());
    const auto text = [this](Key key) { return std::string_view(text_).substr(key.begin, key.size); };
    std::optional<std::string> doubled;
    if (keys_.end() - begin > 1) {
      std::vector<std::string_view> texts;
      std::transform(begin, keys_.end(), std::back_inserter(texts), text);
      std::ranges::sort(texts);
      if (const auto twice = std::ranges::adjacent_find(texts); twice != texts.end()) doubled = *twice;
    }
    if (begin != keys_.end()) text_.resize(begin->begin);
    keys_.erase(begin, keys_.end());
    objects_.pop_back();
    return doubled;
  }

 private:
  struct Key {
    size_t begin = 0, size = 0;
  };
  std::string text_;             // All keys, joined.
  std::vector<Key> keys_;        // For each key, where it begins in text_, and its size in bytes.
  std::vector<size_t> objects_;  // For each open object, the index of its first key in keys_.
};

/// The functions that the parser of nlohmann::json calls. If one of them returns false, parsing ends.
class Adapter {
 public:
  Adapter(int depth_max, Events& events) : depth_max_(depth_max), events_(events) {}
  std::optional<Error>& error() { return error_; }

  bool null() { return keep(events_.null()); }
  bool boolean(bool value) { return keep(events_.boolean(value)); }
  bool number_integer(int64_t value) { return whole(value); }
  bool number_unsigned(uint64_t value) { return whole(value); }
  bool number_float(double, const std::string& text) { return keep(events_.number(text)); }
  bool string(std::string& text) { return keep(events_.string(text)); }
  bool binary(Json::binary_t&) { return keep(data_loss("not JSON")); }
  bool start_object(size_t) {
    keys_.begin_object();
    return enter() && keep(events_.begin_object());
  }
  bool key(std::string& text) {
    keys_.add(text);
    return keep(events_.key(text));
  }
  bool end_object() {
    --depth_;
    if (const auto doubled = keys_.end_object())
      return keep(data_loss("an object has the key " + string_text(*doubled) + " twice"));
    return keep(events_.end_object());
  }
  bool start_array(size_t) { return enter() && keep(events_.begin_list()); }
  bool end_array() {
    --depth_;
    return keep(events_.end_list());
  }
  template <class Exception>
  bool parse_error(size_t position, const std::string& token, const Exception& exception) {
    constexpr int kOutOfRange = 406;
    const std::string place = "at byte " + std::to_string(position);
    if (exception.id == kOutOfRange)
      return keep(data_loss("the number that ends " + place + " is beyond the range of double"));
    constexpr size_t kShownBytes = 40;
    const size_t begin = token.size() - std::min(token.size(), kShownBytes);
    return keep(data_loss("not JSON " + place + ", near " + string_text(token.substr(begin))));
  }

 private:
  template <class Whole>
  bool whole(Whole value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return keep(events_.number({digits.data(), size_t(end - digits.data())}));
  }
  bool enter() {
    if (++depth_ <= depth_max_) return true;
    return keep(data_loss("lists and objects nest more than " + std::to_string(depth_max_) + " deep"));
  }
  bool keep(Result<void> result) {
    if (result) return true;
    error_ = std::move(result).error();
    return false;
  }

  const int depth_max_;
  Events& events_;
  int depth_ = 0;
  Keys keys_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> read_events(std::string_view text, int depth_max, Events& events) {
  // The library would skip a byte order mark, and would take a zero byte for the end of the text.
  if (text.starts_with("\xEF\xBB\xBF")) return data_loss("not JSON at byte 1: it begins with a byte order mark");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return data_loss("not JSON at byte " + std::to_string(zero + 1) + ": a zero byte");
  }
  Adapter adapter(depth_max, events);
  if (Json::sax_parse(text.begin(), text.end(), &adapter)) return {};
  return adapter.error() ? *std::move(adapter.error()) : data_loss("not JSON");
}

}  // namespace shoal::json
