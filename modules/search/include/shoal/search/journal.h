// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The journal of a search, the file search.jsonl in its folder, has one JSON object per line for each event of the search.
/// An event is on the disk before the search acts on it, so a search that is started again knows all trials and continues.
/// docs/formats.md has the fields.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/search/goal.h"
#include "shoal/search/space.h"

namespace shoal::tuning {

enum class Algorithm : uint8_t { kGrid, kRandom, kAsha };
/// Returns "grid", "random" or "asha".
std::string_view to_string(Algorithm algorithm);
/// An unknown name gives InvalidArgument, which lists the names.
Result<Algorithm> parse_algorithm(std::string_view name);
/// The model_dir of a trial in the folder of its search: "DIR/trials/0007".
std::string trial_folder(const std::string& folder, int64_t trial);

/// The first line of a journal, which identifies the search. The number of trials is not part of it, so a search may get
/// more trials later.
struct SearchHeader {
  Space space;
  Algorithm algorithm = Algorithm::kRandom;
  int64_t seed = 0;
  std::string metric = "loss";
  Goal goal = Goal::kMin;
  int64_t min_steps = 0, max_steps = 0, eta = 0;  ///< 0: not given.
  std::vector<std::string> program{};  ///< The command that each trial runs, with its arguments; empty for search().
};

/// A trial has received its number and its parameters.
struct TrialCreated {
  int64_t trial = 0;
  Assignment parameters;
};
/// A process of a trial is about to start; the first one is attempt 1.
struct TrialStarted {
  int64_t trial = 0;
  int64_t attempt = 0;
};
/// A trial has reached a rung, a number of steps at which ASHA compares trials, with this value.
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
/// Returns "complete", "stopped", "failed" or "retry".
std::string_view to_string(Outcome outcome);
struct TrialEnded {
  int64_t trial = 0;
  Outcome outcome = Outcome::kComplete;
  int64_t status = 0;             ///< The exit status, or 128 plus the number of the signal that ended the process.
  std::optional<double> value{};  ///< The metric of the last evaluation; nothing if there was none.
  int64_t step = 0;               ///< The global step of the last evaluation.
  double seconds = 0;             ///< The time that this attempt ran.
  std::string error{};            ///< A sentence that says what failed; empty without a failure.
};
/// The end of the search has ended an attempt. The trial continues at the next start of the search.
struct TrialInterrupted {
  int64_t trial = 0;
  double seconds = 0;  ///< The time that this attempt ran.
};
using Record = std::variant<TrialCreated, TrialStarted, TrialObserved, TrialEnded, TrialInterrupted>;

/// Returns a record as a line, with its line end.
std::string line_of(const SearchHeader& header);
std::string line_of(const Record& record);

struct JournalContents {
  SearchHeader header;
  std::vector<Record> records{};
  size_t intact_bytes = 0;  ///< The length of all complete lines. An incomplete line may follow them.
};
/// Reads a journal's text. Nothing if not even the first line is whole. DataLoss, naming `path` and the line, if a whole
/// line is no record, or names a trial that does not exist or has ended.
Result<std::optional<JournalContents>> parse_journal(std::string_view text, const std::string& path);

/// Returns a sentence that names the first difference between the headers; empty if they identify the same search.
std::string difference(const SearchHeader& was, const SearchHeader& is);

/// The journal of a search that runs. While the object lives, no other search can open a journal in the same folder. The
/// storage given to open() outlives the object.
class Journal {
 public:
  /// Locks `folder`, which has to exist, opens `folder`/search.jsonl, creates the file if it is missing, and removes an
  /// incomplete last line. `holder` names this process in the error of a search that finds the folder locked.
  /// Unavailable if another search holds the lock, or if the lock cannot be written; the sentence says which.
  /// FailedPrecondition, naming the difference, if the file is the journal of another search, or if a trial has a folder
  /// but no record, so that the file was removed or cut; also the errors of parse_journal() and of storage.
  static Result<Journal> open(Storage& storage, const std::string& folder, const SearchHeader& header,
                              std::string_view holder = "another process");

  /// The records that the file had when the journal was opened.
  const std::vector<Record>& records() const { return records_; }
  /// FailedPrecondition if the folder, its lock or the journal's file was removed, moved or replaced since open().
  Result<void> check_in_place() const;
  /// Writes a record, and returns once the record is on the disk. Also returns the errors of check_in_place(), and then
  /// writes nothing. After an error of storage, every further call returns the same error.
  Result<void> append(const Record& record);

 private:
  Journal(Storage& storage, std::string folder) : storage_(&storage), folder_(std::move(folder)) {}

  Storage* storage_;
  std::string folder_;
  std::unique_ptr<StorageLock> lock_;
  std::vector<Record> records_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace shoal::tuning
