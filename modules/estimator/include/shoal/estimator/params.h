#pragma once
/// A model's hyper-parameters: name to number, text or flag. Copied into the Estimator, which does not interpret them;
/// model_fn and input_fn receive them. This is how a hyper-parameter search drives a model.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace shoal {

class Params {
 public:
  using Item = std::variant<int64_t, double, bool, std::string>;

  Params() = default;
  /// {{"learning_rate", 1e-3}, {"units", 128}, {"optimizer", "Adam"}}
  struct Entry {
    Entry(std::string n, int64_t v) : name(std::move(n)), item(v) {}
    Entry(std::string n, int v) : name(std::move(n)), item(int64_t(v)) {}
    Entry(std::string n, double v) : name(std::move(n)), item(v) {}
    Entry(std::string n, bool v) : name(std::move(n)), item(v) {}
    Entry(std::string n, const char* v) : name(std::move(n)), item(std::string(v)) {}
    Entry(std::string n, std::string v) : name(std::move(n)), item(std::move(v)) {}
    std::string name;
    Item item;
  };
  Params(std::initializer_list<Entry> entries);

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  void set(std::string name, Item item) { items_.insert_or_assign(std::move(name), std::move(item)); }

  // Each raises NotFound, listing the names there are, if the name is missing, and TypeMismatch if it is of another type.
  int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;  ///< an int is a real too
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
  const Item& find(std::string_view name) const;
  std::map<std::string, Item, std::less<>> items_;
};

}  // namespace shoal
