// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tests of this folder share: environments, and elements as plain values that compare and print.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/base/production.h"
#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

/// The features' lone tensor as numbers: any type but strings.
struct Value {
  std::vector<int64_t> shape;
  std::vector<int64_t> numbers;
  Value() = default;
  Value(int64_t number) : numbers{number} {}  // NOLINT: a number is one
  Value(std::vector<int64_t> s, std::vector<int64_t> n) : shape(std::move(s)), numbers(std::move(n)) {}
  friend bool operator==(const Value&, const Value&) = default;
};
using Values = std::vector<Value>;

inline std::ostream& operator<<(std::ostream& out, const Value& value) {
  if (!value.shape.empty()) out << "(";
  for (size_t i = 0; i < value.numbers.size(); ++i) out << (i ? " " : "") << value.numbers[i];
  return value.shape.empty() ? out : out << ")";
}

inline Value value_of(const Tensor& tensor) {
  Value value;
  value.shape.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
  const auto append = [&](auto numbers) { value.numbers.assign(numbers.begin(), numbers.end()); };
  switch (tensor.dtype()) {
    case DType::kInt64: append(tensor.as<int64_t>()); break;
    case DType::kFloat32: append(tensor.as<float>()); break;
    case DType::kUInt8: append(tensor.as<uint8_t>()); break;
    default: ADD_FAILURE() << "a tensor of another type"; break;
  }
  return value;
}
inline Value value_of(const Element& element) { return value_of(element.features.single()); }

inline Values values(std::initializer_list<int64_t> numbers) { return {numbers.begin(), numbers.end()}; }
inline Values counting(int64_t begin, int64_t end) {
  Values result;
  for (int64_t i = begin; i < end; ++i) result.emplace_back(i);
  return result;
}

/// How an iteration went: its elements, and the error that ended it.
struct Outcome {
  Values values;
  std::optional<Error> error;
};

inline Outcome drain(Iterator& iterator, size_t count_max = 100000) {
  Outcome outcome;
  Element element;
  while (outcome.values.size() < count_max) {
    Result<bool> more = iterator.next(element);
    if (!more) {
      outcome.error = more.error();
      break;
    }
    if (!*more) break;
    outcome.values.push_back(value_of(element));
  }
  return outcome;
}

inline std::unique_ptr<Iterator> open(const Dataset& dataset, Environment& env, IterateOptions options = {}) {
  return value_or_raise(dataset.iterate(env, options));
}

inline Values collect(const Dataset& dataset, Environment& env, IterateOptions options = {}, size_t count_max = 100000) {
  Outcome outcome = drain(*open(dataset, env, options), count_max);
  EXPECT_FALSE(outcome.error) << outcome.error->message();
  return outcome.values;
}

/// Both kinds of environment: jobs on threads, and jobs inline.
class BothEnvironments : public testing::TestWithParam<const char*> {
 protected:
  Environment& env() { return *environment_; }
  bool has_threads() const { return GetParam() == std::string("threads"); }

 private:
  VirtualWorld world_{7};
  std::unique_ptr<Environment> production_ =
      has_threads() ? make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 3}) : nullptr;
  Environment* environment_ = production_ ? production_.get() : &world_.add_task();
};

#define SHOAL_IN_BOTH_ENVIRONMENTS(Suite)                                 \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values("threads", "inline"), \
                           [](const auto& instance) { return std::string(instance.param); })

/// A test with an environment of virtual time and jobs inline.
class WithEnvironment : public testing::Test {
 protected:
  Environment& env() { return environment_; }

 private:
  VirtualWorld world_{7};
  Environment& environment_ = world_.add_task();
};

/// The kind of error that `make` raises, or nullopt.
template <class Make>
std::optional<Error> raised(Make&& make) {
  try {
    make();
  } catch (const Exception& exception) {
    return exception.error();
  }
  return std::nullopt;
}

}  // namespace shoal::data
