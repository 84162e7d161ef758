// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Walking through a dataset, with a position that can be saved and restored.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shoal/base/environment.h"
#include "shoal/base/hidden.h"
#include "shoal/data/element.h"
#include "shoal/data/input_statistics.h"

namespace shoal::data {

/// The place of a pipeline: counters, seeds (at most 64 KiB), and the number of elements that it has handed out. A position
/// never holds contents.
struct Position {
  uint64_t ordinal = 0;
  std::string state;
  friend bool operator==(const Position&, const Position&) = default;
};

struct IterateOptions {
  std::optional<int64_t> seed = {};  ///< The seed of the RunConfig.
  int trainer_index = 0;
  int num_trainers = 1;
  /// The seed of the run: where `seed` is not set, operations without a seed of their own draw by it, differently
  /// on each trainer. Default: they draw what nobody can draw again.
  std::optional<int64_t> run_seed = {};
  /// When it stops, a call that is at work ends with Cancelled, and the iterator stays at that: sources of Shoal look at it for each
  /// element, and before each piece of a file; a generator may ask for it (Dataset::from_generator). Functions of map() and filter()
  /// run to their ends. save() then gives the position after the last element handed out. Any thread may stop it.
  StopToken stop = {};
  bool measure = false;  ///< Whether Iterator::statistics() knows what stages cost. It takes some nanoseconds for each element and stage.
};

/// One thread at a time may use an iterator. Destroying it soon stops its jobs, also a generator that asked for the stop
/// token.
class Iterator {
 public:
  virtual ~Iterator() = default;
  /// The next element into `batch`, reusing its storage where nobody else holds it. False: end, for good. After an error
  /// the iterator stays at it. Blocks.
  virtual Result<bool> next(Batch& batch) = 0;
  /// Where row `row` of the element that next() gave last was read, for errors: "jan.csv, line 12". Empty if that is not known:
  /// not every row is of a text file, a map() of batches may move rows, and a row of zip() has several places.
  virtual std::string place_of_row(int64_t) const { return {}; }
  /// Elements handed out (not prefetched).
  virtual uint64_t ordinal() const = 0;
  /// The position after the last element handed out. FailedPrecondition if a source cannot say.
  virtual Result<Position> save() const = 0;
  /// Writes the position into `position` and reuses its memory, for a save after every element.
  virtual Result<void> save_to(Position& position) const;
  /// Continues after `position`. FailedPrecondition if the pipeline changed or a source cannot resume: the caller restarts
  /// at the beginning, with a warning.
  virtual Result<void> restore(const Position& position) = 0;
  /// Checks that `position` belongs to this pipeline, as far as this can be seen without seeking. Errors are those of
  /// restore().
  virtual Result<void> check(const Position& position) const = 0;
  /// Passes over up to `count` elements, seeking where it can; returns how many there were. What is passed over by
  /// seeking is not looked at, so its errors go unseen.
  virtual Result<int64_t> skip(int64_t count) = 0;
  /// What the stages have cost so far. Empty without IterateOptions::measure. Any thread, also while next() is at work.
  virtual InputStatistics statistics() const { return {}; }
};

/// The elements of a dataset in a range-based for (Dataset::elements()). One loop, from where the iterator is.
class Elements {
 public:
  explicit Elements(std::unique_ptr<Iterator> iterator);
  Elements(Elements&&) noexcept;
  Elements& operator=(Elements&&) noexcept;
  ~Elements();

  class At {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    /// Valid until the next one is asked for; a copy stays valid, and shares its tensors.
    const Element& operator*() const { return *element_; }
    const Element* operator->() const { return element_; }
    /// Raises what Iterator::next() returns.
    At& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const At& at, std::default_sentinel_t) { return !at.more_; }

   private:
    friend class Elements;
    At(Iterator& iterator, Element& element) : iterator_(&iterator), element_(&element) { ++*this; }
    Iterator* iterator_;
    Element* element_;
    bool more_ = false;
  };
  At begin() { return At(*iterator_, element_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Hidden<Iterator> iterator_;
  Element element_;
};

}  // namespace shoal::data
