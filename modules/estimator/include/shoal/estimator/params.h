// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model's hyper-parameters: name to number, text, flag, or a list of numbers or texts. Copied into the Estimator, which
/// does not interpret them; model_fn and input_fn receive them. This is how a hyper-parameter search drives a model.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace shoal {

class Params {
 public:
  using Item =
      std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

  Params() = default;
  /// {{"learning_rate", 1e-3}, {"units", 128}, {"optimizer", "Adam"}, {"hidden_units", {64, 32}}}
  ///
  /// Integers of every width and sign are int64_t here (InvalidArgument, raised, where one is too large), float is double,
  /// and so they are in lists.
  struct Entry {
    template <std::integral T>
    Entry(std::string n, T v) : name(std::move(n)), item(as_item(name, v)) {}
    template <std::floating_point T>
    Entry(std::string n, T v) : name(std::move(n)), item(double(v)) {}
    Entry(std::string n, const char* v) : name(std::move(n)), item(std::string(v)) {}
    Entry(std::string n, std::string_view v) : name(std::move(n)), item(std::string(v)) {}
    Entry(std::string n, std::string v) : name(std::move(n)), item(std::move(v)) {}
    template <class T>
    requires(std::integral<T> || std::floating_point<T>) &&
        (!std::same_as<T, bool>)Entry(std::string n, std::initializer_list<T> v)
        : name(std::move(n)),
    item(as_list(name, v)) {}
    template <class T>
    requires(std::integral<T> || std::floating_point<T>) &&
        (!std::same_as<T, bool>)Entry(std::string n, const std::vector<T>& v)
        : name(std::move(n)),
    item(as_list(name, v)) {}
    Entry(std::string n, std::initializer_list<const char*> v)
        : name(std::move(n)), item(std::vector<std::string>(v.begin(), v.end())) {}
    Entry(std::string n, std::vector<std::string> v) : name(std::move(n)), item(std::move(v)) {}
    Entry(std::string n, Item v) : name(std::move(n)), item(std::move(v)) {}
    std::string name;
    Item item;
  };
  Params(std::initializer_list<Entry> entries);

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  /// `value`: whatever an Entry takes.
  template <class T>
  void set(std::string name, T&& value) {
    Entry entry(std::move(name), std::forward<T>(value));
    items_.insert_or_assign(std::move(entry.name), std::move(entry.item));
  }

  // Each raises NotFound, listing the names there are, if the name is missing, and TypeMismatch if it is of another type.
  int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;  ///< An int is a real too.
  bool get_bool(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  std::vector<double> get_reals(std::string_view name) const;  ///< Integers are reals too.
  const std::vector<std::string>& get_strings(std::string_view name) const;
  // The same, with what to take where the name is missing.
  int64_t get_int(std::string_view name, int64_t otherwise) const { return has(name) ? get_int(name) : otherwise; }
  double get_real(std::string_view name, double otherwise) const { return has(name) ? get_real(name) : otherwise; }
  bool get_bool(std::string_view name, bool otherwise) const { return has(name) ? get_bool(name) : otherwise; }
  std::string get_string(std::string_view name, std::string otherwise) const {
    return has(name) ? get_string(name) : std::move(otherwise);
  }
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise) const {
    return has(name) ? get_ints(name) : std::move(otherwise);
  }
  std::vector<double> get_reals(std::string_view name, std::vector<double> otherwise) const {
    return has(name) ? get_reals(name) : std::move(otherwise);
  }
  std::vector<std::string> get_strings(std::string_view name, std::vector<std::string> otherwise) const {
    return has(name) ? get_strings(name) : std::move(otherwise);
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  template <class T>
  static Item as_item(std::string_view name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else {
      if (std::is_unsigned_v<T> && uint64_t(value) > uint64_t(INT64_MAX)) raise_too_large(name, uint64_t(value));
      return int64_t(value);
    }
  }
  template <class List>
  static Item as_list(std::string_view name, const List& values) {
    if constexpr (std::is_integral_v<typename List::value_type>) {
      std::vector<int64_t> list;
      for (const auto value : values) list.push_back(std::get<int64_t>(as_item(name, value)));
      return list;
    } else {
      return std::vector<double>(values.begin(), values.end());
    }
  }
  [[noreturn]] static void raise_too_large(std::string_view name, uint64_t value);
  const Item& find(std::string_view name) const;
  std::map<std::string, Item, std::less<>> items_;
};

}  // namespace shoal
