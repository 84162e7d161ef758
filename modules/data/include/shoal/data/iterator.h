// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Walks through a dataset, and saves and restores its position.
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

/// The position of a pipeline: counters and seeds (at most 64 KiB), and the number of elements that were returned. A
/// position holds no elements, except the state of a scan().
struct Position {
  uint64_t ordinal = 0;
  std::string state;
  friend bool operator==(const Position&, const Position&) = default;
};

struct IterateOptions {
  std::optional<int64_t> seed = {};  ///< The seed of the RunConfig.
  int trainer_index = 0;
  int num_trainers = 1;
  /// The seed of the run. If `seed` is not set, operations without a seed of their own use this one, and draw other
  /// numbers on each trainer. Default: a fresh seed, which no run can draw again.
  std::optional<int64_t> run_seed = {};
  /// When this token stops, the current call and all later ones end with Cancelled. Shoal's sources check it for each
  /// element and each piece of a file; a generator may check it, too (Dataset::from_generator). Functions of map() and
  /// filter() run to their ends. save() then gives the position after the last element returned. Any thread may stop it.
  StopToken stop = {};
  /// The most memory in bytes that the elements of one batch may take. Default: what this process may have at most
  /// (ProcessInfo::memory_bytes). A batch that is larger ends iteration with FailedPrecondition while it is collected.
  std::optional<int64_t> batch_bytes_max = {};
  bool measure = false;  ///< True: stages are measured, which takes some nanoseconds per element and stage.
};

/// One thread at a time may use an iterator. The destructor asks background jobs, and generators that take the stop token,
/// to stop soon.
class Iterator {
 public:
  virtual ~Iterator() = default;
  /// Writes the next element into `batch`, reusing the storage of `batch` if nobody else holds it. False: the end, now
  /// and for all later calls. After an error all later calls return that error. Blocks.
  virtual Result<bool> next(Batch& batch) = 0;
  /// Returns the place from which row `row` of the last element was read, for errors: "jan.csv, line 12". Empty if unknown:
  /// a row may be from no text file, a map() of batches may move rows, and a row of zip() has several places.
  virtual std::string place_of_row(int64_t) const { return {}; }
  /// The number of elements returned by next() (without elements that are only prefetched).
  virtual uint64_t ordinal() const = 0;
  /// The position after the last element returned. FailedPrecondition if a source cannot tell its position.
  virtual Result<Position> save() const = 0;
  /// Writes the position into `position` and reuses its memory, for a save after every element.
  virtual Result<void> save_to(Position& position) const;
  /// Continues after `position`. FailedPrecondition if the pipeline changed, a source cannot resume, or a file of text lines,
  /// CSV or JSON lines was changed before the position: the caller then starts at the beginning, with a warning. Such a
  /// change is seen if it is in the 240 bytes before the place from which the file is read again or changes the length of
  /// the text there; behind a shuffle() or cache(path), this place lies before the elements that they hold. Other files of
  /// another content are not recognised, unless they end before the position.
  virtual Result<void> restore(const Position& position) = 0;
  /// Checks that `position` belongs to this pipeline, as far as this can be seen without seeking. Errors are those of
  /// restore().
  virtual Result<void> check(const Position& position) const = 0;
  /// Passes over up to `count` elements, seeking if possible; returns how many there were. Bytes that are skipped by
  /// seeking are not read, so errors in them are not found.
  virtual Result<int64_t> skip(int64_t count) = 0;
  /// What the stages have cost so far. Empty without IterateOptions::measure. Any thread may call it, even during next().
  virtual InputStatistics statistics() const { return {}; }
};

/// The elements of a dataset for one range-based for loop (Dataset::elements()), from the iterator's position on.
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
    /// The element is valid until ++; a copy stays valid, and shares its tensors.
    const Element& operator*() const { return *element_; }
    const Element* operator->() const { return element_; }
    /// Reads the next element. Raises the errors of Iterator::next().
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
