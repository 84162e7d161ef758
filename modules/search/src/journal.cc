// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/journal.h"

#include <algorithm>
#include <span>

#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/number_text.h"

namespace shoal::tuning {
namespace {

constexpr uint64_t kJournalBytesMax = uint64_t(1) << 30;
constexpr std::string_view kTrials = "trials";  // The folder of the trials' folders.

std::string journal_path(const std::string& folder) { return join_path(folder, "search.jsonl"); }

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string space_text(const Space& space) {
  return comma_separated(space.parameters(), [](const Parameter& parameter) { return text_of(parameter); });
}

Result<void> append_durably(WritableFile& file, std::string_view line) {
  SHOAL_TRY_VOID(file.append(std::as_bytes(std::span(line.data(), line.size()))));
  return file.sync();
}

/// Locks the folder of a search against other searches.
Result<std::unique_ptr<StorageLock>> lock_search(Storage& storage, const std::string& folder, std::string_view holder) {
  auto lock = storage.lock(join_path(folder, "search_lock"), holder);
  if (lock || lock.error().kind() != ErrorKind::kUnavailable) return lock;
  if (lock.error().system_error() != 0) {  // Nobody holds the lock: a system call has failed.
    return std::move(lock).error().with_context("the folder " + folder + " of the search cannot be locked");
  }
  return std::move(lock).error().with_context("another search runs in " + folder +
                                              "; wait until it has ended, or choose another folder");
}

/// Returns the highest number of a trial that has a folder in the folder of the search; nothing if no trial has one.
Result<std::optional<int64_t>> last_trial_with_folder(Storage& storage, const std::string& folder) {
  const Result<std::vector<FileInfo>> files = storage.list(join_path(folder, kTrials));
  if (!files && files.error().kind() == ErrorKind::kNotFound) return std::optional<int64_t>();
  if (!files) return files.error();
  std::optional<int64_t> last;
  for (const FileInfo& file : *files) {
    const std::optional<int64_t> number = number_from<int64_t>(file.name);
    if (file.is_folder && number && *number >= 0 &&
        trial_folder(folder, *number) == join_path(join_path(folder, kTrials), file.name)) {
      last = std::max(last.value_or(0), *number);
    }
  }
  return last;
}

/// A trial has its folder only after the journal has its record. So if a trial has a folder and no record, the journal was
/// removed or cut, and a new trial of this number would find checkpoints and results of other parameters in its folder.
Result<void> check_trials_have_records(Storage& storage, const std::string& folder, const std::string& path,
                                       const std::optional<JournalContents>& contents) {
  SHOAL_TRY(const std::optional<int64_t> last, last_trial_with_folder(storage, folder));
  const auto is_created = [](const Record& record) { return std::holds_alternative<TrialCreated>(record); };
  const int64_t created = contents ? std::ranges::count_if(contents->records, is_created) : 0;
  if (!last || *last < created) return {};
  const std::string is = !contents && !storage.exists(path) ? " is missing" : " is cut";
  return failed_precondition(path + is + ": it has no record of trial " + std::to_string(*last) + ", whose folder " +
                             trial_folder(folder, *last) +
                             " exists; put the journal back as it was, or begin another search in another folder");
}

}  // namespace

std::string trial_folder(const std::string& folder, int64_t trial) {
  return join_path(join_path(folder, kTrials), formatted("%04lld", static_cast<long long>(trial)));
}

std::string difference(const SearchHeader& was, const SearchHeader& is) {
  const auto differ = [](const char* what, const std::string& before, const std::string& now) {
    return before == now ? std::string() : std::string("its ") + what + " is " + before + ", and now is to be " + now;
  };
  const std::string differences[] = {
      differ("space", space_text(was.space), space_text(is.space)),
      differ("algorithm", std::string(to_string(was.algorithm)), std::string(to_string(is.algorithm))),
      differ("seed", std::to_string(was.seed), std::to_string(is.seed)),
      differ("metric", was.metric, is.metric),
      differ("goal", std::string(to_string(was.goal)), std::string(to_string(is.goal))),
      differ("min-steps", std::to_string(was.min_steps), std::to_string(is.min_steps)),
      differ("max-steps", std::to_string(was.max_steps), std::to_string(is.max_steps)),
      differ("eta", std::to_string(was.eta), std::to_string(is.eta)),
      was.program == is.program ? ""
                                : differ("program", words_text(was.program), words_text(is.program) + " (in other words)"),
  };
  for (const std::string& one : differences) {
    if (!one.empty()) return one;
  }
  return {};
}

Result<Journal> Journal::open(Storage& storage, const std::string& folder, const SearchHeader& header,
                              std::string_view holder) {
  const std::string path = journal_path(folder);
  Journal journal(storage, folder);
  SHOAL_TRY(journal.lock_, lock_search(storage, folder, holder));
  std::optional<JournalContents> contents;
  std::string text;
  if (storage.exists(path)) {
    SHOAL_TRY(text, storage.read_all(path, kJournalBytesMax));
    SHOAL_TRY(contents, parse_journal(text, path));
  }
  if (contents) {
    if (const std::string other = difference(contents->header, header); !other.empty()) {
      return failed_precondition(folder + " holds another search: " + other + "; give the same options, or another folder");
    }
  }
  SHOAL_TRY_VOID(check_trials_have_records(storage, folder, path, contents));
  if (contents) journal.records_ = std::move(contents->records);
  const std::string_view intact = contents ? std::string_view(text).substr(0, contents->intact_bytes) : std::string_view();
  if (!contents) {
    SHOAL_TRY_VOID(storage.write_atomically(path, line_of(header)));
  } else if (intact.size() < text.size()) {
    SHOAL_TRY_VOID(storage.write_atomically(path, intact));
  }
  SHOAL_TRY(journal.file_, storage.append(path));
  return journal;
}

Result<void> Journal::check_in_place() const {
  const Result<bool> in_place = lock_->is_in_place();
  if (!in_place) {
    return in_place.error().with_context("whether " + folder_ + " is still the folder of this search cannot be seen");
  }
  if (*in_place && storage_->exists(journal_path(folder_))) return {};
  return failed_precondition(folder_ +
                             " is not the folder of this search any more: search_lock or search.jsonl was removed, moved "
                             "or replaced while the search ran; the search ends, and writes nothing there. If the folder "
                             "was moved, the same search continues where it is now");
}

Result<void> Journal::append(const Record& record) {
  SHOAL_TRY_VOID(check_in_place());  // Else the record would go to a file without a name, where no later start finds it.
  return append_durably(*file_, line_of(record));
}

}  // namespace shoal::tuning
