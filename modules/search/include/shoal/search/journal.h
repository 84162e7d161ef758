// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The journal of a search, the file search.jsonl in its folder: one JSON object in a line for each thing that has happened, each on the
/// disk before anything follows from it. Whoever opens the journal again knows all trials, and goes on. docs/formats.md has the fields.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/search/asha.h"
#include "shoal/search/space.h"

namespace shoal::tuning {

enum class Algorithm : uint8_t { kGrid, kRandom, kAsha };
/// "grid", "random", "asha".
std::string_view to_string(Algorithm algorithm);
/// InvalidArgument listing the names.
Result<Algorithm> parse_algorithm(std::string_view name);
/// "min", "max".
std::string_view to_string(Goal goal);
/// InvalidArgument listing the names.
Result<Goal> parse_goal(std::string_view name);

/// What makes a search this one and no other: the first line of its journal. How many trials it has is not among them, so a search may
/// be given more trials later.
struct SearchHeader {
  Space space;
  Algorithm algorithm = Algorithm::kRandom;
  int64_t seed = 0;
  std::string metric = "loss";
  Goal goal = Goal::kMin;
  int64_t min_steps = 0, max_steps = 0, eta = 0;  ///< 0 for what is not given.
  std::vector<std::string> program{};  ///< The command that each trial runs, with its arguments; empty for search().
};

/// A trial has been given its number and its parameters.
struct TrialCreated {
  int64_t trial = 0;
  Assignment parameters;
};
/// A process of a trial is about to start; the first one is attempt 1.
struct TrialStarted {
  int64_t trial = 0;
  int64_t attempt = 0;
};
/// A trial has reached a rung (Asha), with this value at this step.
struct TrialObserved {
  int64_t trial = 0;
  int64_t rung = 0;
  int64_t step = 0;
  double value = 0;
  bool goes_on = true;
};
enum class Outcome : uint8_t {
  kComplete,  ///< The trial has ended by itself.
  kStopped,   ///< The trial was ended early, or had used up its time.
  kFailed,    ///< The trial has failed, and is not started again.
  kRetry,     ///< The attempt has failed, and the trial is started again.
};
/// "complete", "stopped", "failed", "retry".
std::string_view to_string(Outcome outcome);
struct TrialEnded {
  int64_t trial = 0;
  Outcome outcome = Outcome::kComplete;
  int64_t status = 0;             ///< The exit status; 128 and the signal's number for a process that a signal ended.
  std::optional<double> value{};  ///< The metric of the last evaluation; nothing if there was none.
  int64_t step = 0;               ///< The global step of that evaluation.
  double seconds = 0;             ///< How long this attempt has run.
  std::string error{};            ///< A sentence, where something has failed.
};
using Record = std::variant<TrialCreated, TrialStarted, TrialObserved, TrialEnded>;

/// The line of a record, with its end.
std::string line_of(const SearchHeader& header);
std::string line_of(const Record& record);

struct JournalContents {
  SearchHeader header;
  std::vector<Record> records{};
  size_t intact_bytes = 0;  ///< Bytes of all whole lines. What stands behind them is a line that was being written.
};
/// Reads a journal's text. Nothing: not even the first line is whole. DataLoss, with `path` and the line, for a whole line that is no
/// record, or speaks of a trial that does not exist, or has ended.
Result<std::optional<JournalContents>> parse_journal(std::string_view text, const std::string& path);

/// A sentence with the first thing in which the two differ; empty if they are the same search.
std::string difference(const SearchHeader& was, const SearchHeader& is);

class Journal {
 public:
  /// Opens `folder`/search.jsonl, and makes it, if it is not there. FailedPrecondition if it is that of another search, naming the
  /// difference; the errors of parse_journal() and of storage. A torn last line is removed.
  static Result<Journal> open(Storage& storage, const std::string& folder, const SearchHeader& header);

  /// What was there when the journal was opened.
  const std::vector<Record>& records() const { return records_; }
  /// Returns when the record is on the disk. The errors of storage; after one, every further call returns it again.
  Result<void> append(const Record& record);

 private:
  std::vector<Record> records_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace shoal::tuning
