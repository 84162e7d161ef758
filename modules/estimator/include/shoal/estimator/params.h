// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model's hyper-parameters: names with numbers, texts, flags, or lists of numbers or texts. The Estimator keeps a copy
/// and does not interpret it; model_fn and input_fn receive it. A hyper-parameter search varies a model by these.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
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
  /// One parameter of a list such as {{"learning_rate", 1e-3}, {"units", 128}, {"hidden_units", {64, 32}}}.
  ///
  /// Integers of every width and sign become int64_t, and float becomes double, in lists as well. Raises InvalidArgument
  /// for an integer that is too large.
  struct Entry {
    template <std::integral T>
    Entry(std::string n, T v) : name(std::move(n)), item(of_integer(name, v)) {}
    template <std::floating_point T>
    Entry(std::string n, T v) : name(std::move(n)), item(of(double(v))) {}
    Entry(std::string n, const char* v);
    Entry(std::string n, std::string_view v);
    Entry(std::string n, std::string v);
    template <class T>
    requires(std::integral<T> || std::floating_point<T>) &&
        (!std::same_as<T, bool>)Entry(std::string n, std::initializer_list<T> v)
        : name(std::move(n)),
    item(of_list(name, v)) {}
    template <class T>
    requires(std::integral<T> || std::floating_point<T>) &&
        (!std::same_as<T, bool>)Entry(std::string n, const std::vector<T>& v)
        : name(std::move(n)),
    item(of_list(name, v)) {}
    Entry(std::string n, std::initializer_list<const char*> v);
    Entry(std::string n, std::initializer_list<std::string_view> v);
    Entry(std::string n, std::vector<std::string> v);
    Entry(std::string n, Item v);
    std::string name;
    std::shared_ptr<const Item> item;  ///< Never null.
  };
  Params(std::initializer_list<Entry> entries);

  bool has(std::string_view name) const { return look_up(name) != nullptr; }
  /// Sets or replaces a parameter. `value` is anything that an Entry takes.
  template <class T>
  void set(std::string name, T&& value) {
    put(Entry(std::move(name), std::forward<T>(value)));
  }

  // The functions below raise NotFound, listing the names, if the name is missing, and TypeMismatch if the value has
  // another type.
  int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;  ///< Also accepts an integer, which becomes a real number.
  bool get_bool(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  std::vector<double> get_reals(std::string_view name) const;  ///< Also accepts integers, which become real numbers.
  const std::vector<std::string>& get_strings(std::string_view name) const;
  // The functions below return `otherwise` if the name is missing.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  double get_real(std::string_view name, double otherwise) const;
  bool get_bool(std::string_view name, bool otherwise) const;
  std::string get_string(std::string_view name, std::string otherwise) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise) const;
  std::vector<double> get_reals(std::string_view name, std::vector<double> otherwise) const;
  std::vector<std::string> get_strings(std::string_view name, std::vector<std::string> otherwise) const;

  // For loops over all parameters, in the order of their names: `for (const auto& [name, item] : params)`.
  using Pair = std::pair<std::string, Item>;
  const Pair* begin() const;
  const Pair* end() const;

 private:
  // Items and the code for the variant are defined in params.cc. Otherwise every file that includes Shoal would
  // instantiate them, at a tenth of the whole cost of including Shoal (docs/decisions/light-headers.md).
  struct Items;

  static std::shared_ptr<const Item> of(bool value);
  static std::shared_ptr<const Item> of(int64_t value);
  static std::shared_ptr<const Item> of(double value);
  static std::shared_ptr<const Item> of(std::vector<int64_t> values);
  static std::shared_ptr<const Item> of(std::vector<double> values);

  template <class T>
  static int64_t as_int(std::string_view name, T value) {
    if (std::is_unsigned_v<T> && uint64_t(value) > uint64_t(INT64_MAX)) raise_too_large(name, uint64_t(value));
    return int64_t(value);
  }
  template <class T>
  static std::shared_ptr<const Item> of_integer(std::string_view name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return of(value);
    } else {
      return of(as_int(name, value));
    }
  }
  template <class List>
  static std::shared_ptr<const Item> of_list(std::string_view name, const List& values) {
    if constexpr (std::is_integral_v<typename List::value_type>) {
      std::vector<int64_t> list;
      for (const auto value : values) list.push_back(as_int(name, value));
      return of(std::move(list));
    } else {
      return of(std::vector<double>(values.begin(), values.end()));
    }
  }
  [[noreturn]] static void raise_too_large(std::string_view name, uint64_t value);
  void put(Entry entry);
  const Item* look_up(std::string_view name) const;
  const Item& find(std::string_view name) const;

  std::shared_ptr<const Items> items_;  // Never changed, so that copies can share it. Null: there are no parameters.
};

}  // namespace shoal
