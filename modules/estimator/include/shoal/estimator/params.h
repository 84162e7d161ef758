#pragma once
/// A model's hyper-parameters: name to number, text or flag. Copied into the Estimator, which does not interpret them;
/// model_fn and input_fn receive them. This is how a hyper-parameter search drives a model.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace shoal {

class Params {
 public:
  using Item = std::variant<int64_t, double, bool, std::string>;

  Params() = default;
  /// {{"learning_rate", 1e-3}, {"units", 128}, {"optimizer", "Adam"}}
  ///
  /// Integers of every width and sign are int64_t here (InvalidArgument, raised, where one is too large), float is double.
  struct Entry {
    template <std::integral T>
    Entry(std::string n, T v) : name(std::move(n)), item(as_item(name, v)) {}
    template <std::floating_point T>
    Entry(std::string n, T v) : name(std::move(n)), item(double(v)) {}
    Entry(std::string n, const char* v) : name(std::move(n)), item(std::string(v)) {}
    Entry(std::string n, std::string_view v) : name(std::move(n)), item(std::string(v)) {}
    Entry(std::string n, std::string v) : name(std::move(n)), item(std::move(v)) {}
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
  // The same, with what to take where the name is missing.
  int64_t get_int(std::string_view name, int64_t otherwise) const { return has(name) ? get_int(name) : otherwise; }
  double get_real(std::string_view name, double otherwise) const { return has(name) ? get_real(name) : otherwise; }
  bool get_bool(std::string_view name, bool otherwise) const { return has(name) ? get_bool(name) : otherwise; }
  std::string get_string(std::string_view name, std::string otherwise) const {
    return has(name) ? get_string(name) : std::move(otherwise);
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
  [[noreturn]] static void raise_too_large(std::string_view name, uint64_t value);
  const Item& find(std::string_view name) const;
  std::map<std::string, Item, std::less<>> items_;
};

}  // namespace shoal
