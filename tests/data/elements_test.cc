// SPDX-License-Identifier: Apache-2.0
// Walking through a dataset in any program: no Environment, threads of its own, errors as everywhere.
#include <stdexcept>
#include <thread>

#include "collecting.h"

namespace shoal::data {
namespace {

const MapFn kAsItIs = [](Element element) { return element; };

/// A pipeline with every kind of thread.
Dataset busy(int64_t count) { return Dataset::range(count).map(kAsItIs, {.parallel = 3}).shuffle(16).prefetch(2); }

Values elements_of(const Dataset& dataset, IterateOptions options = {}) {
  Values found;
  for (const Element& element : dataset.elements(std::move(options))) found.push_back(value_of(element));
  return found;
}

size_t count_threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(Elements, AreThoseThatAnEnvironmentGives) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  EXPECT_EQ(elements_of(busy(100), {.seed = 7}), collect(busy(100), *env, {.seed = 7}));
  EXPECT_EQ(elements_of(busy(100), {.seed = 7}), elements_of(busy(100), {.seed = 7}));
  EXPECT_NE(elements_of(busy(100), {.seed = 7}), elements_of(busy(100), {.seed = 8}));
  EXPECT_EQ(elements_of(Dataset::range(0)), Values());
}

TEST(Elements, StayValidAsCopies) {
  std::vector<Element> kept;
  for (const Element& element : Dataset::range(6).batch(2).elements()) kept.push_back(element);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(value_of(kept[0]), Value({2}, {0, 1}));
  EXPECT_EQ(value_of(kept[2]), Value({2}, {4, 5}));
}

TEST(Elements, RaiseTheErrorAtItsTurn) {
  const Dataset damaged = Dataset::range(9)
                              .map([](Element element) -> Result<Element> {
                                if (value_of(element).numbers[0] == 3) return data_loss("record 3 is damaged");
                                return element;
                              })
                              .prefetch(2);
  Values before;
  const std::optional<Error> error = raised([&] {
    for (const Element& element : damaged.elements()) before.push_back(value_of(element));
  });
  EXPECT_EQ(before, counting(0, 3));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(raised([] { Dataset::csv({"/none/a.csv"}, {.columns = {{.name = "a"}}}).elements().begin(); })->kind(),
            ErrorKind::kNotFound);
  const Dataset throwing = Dataset::range(3).map([](Element) -> Element { throw std::range_error("mine"); });
  EXPECT_THROW(throwing.elements().begin(), std::range_error);
}

TEST(Elements, LeaveNoThreadBehind) {
  const size_t threads = count_threads();
  EXPECT_EQ(elements_of(busy(50)).size(), 50u);
  EXPECT_EQ(count_threads(), threads);
  for ([[maybe_unused]] const Element& element : busy(1000).repeat().elements()) break;  // Left in the middle.
  EXPECT_EQ(count_threads(), threads);
}

TEST(Elements, AnIteratorOfItsOwnHasPositions) {
  Position position;
  {
    const auto first = value_or_raise(busy(40).iterate({.seed = 3}));
    drain(*first, 13);
    position = value_or_raise(first->save());
  }
  const auto second = value_or_raise(busy(40).iterate({.seed = 3}));
  ASSERT_TRUE(second->restore(position));
  EXPECT_EQ(second->ordinal(), 13u);
  const Values all = elements_of(busy(40), {.seed = 3});
  EXPECT_EQ(drain(*second).values, Values(all.begin() + 13, all.end()));
}

}  // namespace
}  // namespace shoal::data
