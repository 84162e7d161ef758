// SPDX-License-Identifier: Apache-2.0
#include "job/tf_config_json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "job/quote.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/json/text.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

Error not_an_object(const std::string& why) { return invalid_argument("not a JSON object: " + why); }

/// Builds JSON text without blanks, value by value.
class CompactText {
 public:
  void value(std::string_view text) { next() += text; }
  void string(std::string_view text) { next() += json::string_text(text); }
  void key(const std::string& name) {
    string(name);
    text_ += ':';
  }
  void open(char bracket) { next() += bracket; }
  void close(char bracket) { text_ += bracket; }
  std::string take() { return std::exchange(text_, {}); }

 private:
  /// Returns the text, after adding a comma if the next value needs one.
  std::string& next() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[' && text_.back() != ':') text_ += ',';
    return text_;
  }
  std::string text_;
};

/// Builds JSON values of the members of TF_CONFIG that Shoal reads, from the parser's events. A document tree of the whole
/// text would take a second, and gigabytes for 16 MiB of nested values that nobody reads.
class PartsBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return copies() ? copy("null") : put(nullptr); }
  bool boolean(bool value) override { return copies() ? copy(value ? "true" : "false") : put(value); }
  bool number_integer(number_integer_t value) override { return copies() ? copy(std::to_string(value)) : put(value); }
  bool number_unsigned(number_unsigned_t value) override { return copies() ? copy(std::to_string(value)) : put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!copies()) return put(value);
    std::string number = text;  // In nlohmann/json 3.11.2, `text` has the locale's decimal point.
    for (char& each : number) {
      if (std::string_view("0123456789+-eE").find(each) == std::string_view::npos) each = '.';
    }
    return copy(number);
  }
  bool string(string_t& value) override {
    if (!copies()) return put(std::move(value));
    service_.string(value);
    return true;
  }
  bool binary(binary_t&) override { return fail("binary values are no JSON"); }

  bool start_object(size_t) override {
    if (depth_ == 0) return enter();
    if (is_service_) service_.open('{');
    return open(Json::value_t::object);
  }
  bool start_array(size_t) override {
    if (depth_ == 0) return put(nullptr);
    if (is_service_) service_.open('[');
    return open(Json::value_t::array);
  }
  bool end_object() override { return close('}'); }
  bool end_array() override { return close(']'); }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      wanted_ = name == "cluster" || name == "task" || name == "service" || name == "model_dir" || name == "sparseCluster";
      if (wanted_) slot_ = &(parts_[name] = nullptr);
      // The depth up to which this value is stored with its contents. Objects and lists that are nested deeper become empty
      // ones.
      kept_depth_max_ = name == "cluster" ? 3 : name == "task" ? 2 : 1;
      is_service_ = name == "service";
      if (is_service_) service_.take();
    } else if (is_service_) {
      service_.key(name);
    } else if (keeps()) {
      slot_ = &((*open_.back())[name] = nullptr);
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The library says "[json.exception.parse_error.101] parse error at line 1, column 3: what was wrong". Only the words
    // "what was wrong" are used.
    std::string_view why = error.what();
    const size_t column = why.find("column ");
    const size_t colon = why.find(": ", column == std::string_view::npos ? 0 : column);
    if (colon != std::string_view::npos) why.remove_prefix(colon + 2);
    // `position` counts the bytes read, including the wrong byte, so the wrong byte's offset is one less.
    return fail("at byte " + std::to_string(position > 0 ? position - 1 : 0) + ": " + one_line(why));
  }

  Json& parts() { return parts_; }
  std::string service() { return service_.take(); }
  const std::string& failure() const { return failure_; }

 private:
  static std::string one_line(std::string_view text) {
    const std::string quotes = in_quotes(text, 200);
    return quotes.substr(1, quotes.size() - 2);
  }

  template <class T>
  bool put(T&& value) {
    if (depth_ == 0) return fail("the top level must be an object, like {\"cluster\": {...}, \"task\": {...}}");
    return !keeps() || place(Json(std::forward<T>(value))) != nullptr;
  }

  /// Stores `value` at the end of the innermost list that is not closed yet or, in an object, under the key that was read
  /// last. Returns the stored value, or null after too many values.
  Json* place(Json value) {
    if (++kept_count_ > kTfConfigEntriesMax) {
      fail("more than " + std::to_string(kTfConfigEntriesMax) + " entries");
      return nullptr;
    }
    if (!open_.empty() && open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *slot_ = std::move(value);
    return slot_;
  }

  /// True while the parser is inside of the value of `service`, which is stored as text, not as a JSON value.
  bool copies() const { return is_service_ && depth_ > 1; }
  bool copy(std::string_view value) {
    service_.value(value);
    return true;
  }

  /// True while the parser is inside of a value that is stored as a JSON value.
  bool keeps() const { return wanted_ && depth_ <= kept_depth_max_; }

  bool open(Json::value_t type) {
    if (keeps()) {
      Json* container = place(Json(type));
      if (!container) return false;
      if (depth_ < kept_depth_max_) open_.push_back(container);
    }
    return enter();
  }
  bool enter() {
    if (++depth_ > kTfConfigDepthMax) {
      return fail("nested more than " + std::to_string(kTfConfigDepthMax) + " levels deep");
    }
    return true;
  }
  bool close(char bracket) {
    --depth_;
    if (is_service_ && depth_ > 0) service_.close(bracket);
    if (wanted_ && depth_ < kept_depth_max_ && !open_.empty()) open_.pop_back();
    return true;
  }
  bool fail(std::string why) {
    failure_ = std::move(why);
    return false;
  }

  Json parts_ = Json::object();
  // The objects and lists that are open (not closed yet) in the member of TF_CONFIG that is being read, outermost first.
  std::vector<Json*> open_;
  Json* slot_ = nullptr;  // Where to store the value of the last key.
  bool wanted_ = false;
  bool is_service_ = false;
  CompactText service_;
  int kept_depth_max_ = 0;  // Objects and lists that are nested deeper than this are stored as empty ones.
  int depth_ = 0;
  int kept_count_ = 0;
  std::string failure_;
};

}  // namespace

Result<Description> parse_description(std::string_view text) {
  if (text.size() > kTfConfigBytesMax) {
    return invalid_argument("has " + std::to_string(text.size()) + " bytes, more than the " +
                            std::to_string(kTfConfigBytesMax) + " that are read");
  }
  // The parser would skip a byte-order mark, and take a zero byte for the end of the text.
  if (text.starts_with("\xEF\xBB\xBF")) return not_an_object("at byte 0: a byte-order mark");
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return not_an_object("at byte " + std::to_string(nul) + ": a zero byte");
  }
  PartsBuilder builder;
  if (!Json::sax_parse(text, &builder)) return not_an_object(builder.failure());
  return Description{std::move(builder.parts()), builder.service()};
}

}  // namespace shoal::cluster
