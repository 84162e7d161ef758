// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads event files of Shoal and of other programs, also while they are being written.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/monitor/event.h"

namespace shoal::monitor {

/// Reads an event file from its start. Not thread-safe.
class EventFileReader {
 public:
  EventFileReader(Storage& storage, std::string path) : storage_(storage), path_(std::move(path)) {}

  /// Reads the next value. False if the file has no further complete record; call again once the file may have grown. A cut
  /// last record counts as incomplete, not as an error. DataLoss (with path and offset) at a record whose checksum or
  /// contents are wrong; earlier values were returned, and every later call returns the same error.
  Result<bool> next(EventValue& value);
  /// Returns the starts of training read since the last call, in order. A caller that calls this after each next() gets the
  /// starts that the file has in front of the value that next() just returned, and behind the value before.
  std::vector<EventStart> take_starts() { return std::exchange(starts_, {}); }
  /// True if bytes of an incomplete record follow the last complete record.
  bool cut() const;
  const std::string& path() const { return path_; }

 private:
  Result<bool> read_record();
  Result<bool> fill(uint64_t bytes);

  Storage& storage_;
  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;  // The file offset of buffer_[consumed_].
  std::string buffer_;
  size_t consumed_ = 0;
  std::vector<EventValue> pending_;  // Values of the current record that next() has not returned yet, last one first.
  std::vector<EventStart> starts_;
  std::optional<Error> damage_;
};

/// Reads all event files of a folder as one history, in the order of their names, which is the order of opening
/// (event_writer.h). Calls `visit` for each value; `visit` returns false to stop. Returns one DataLoss for each damaged
/// file, whose values before the damage are visited. A missing folder has no events. Other errors (not permitted,
/// input/output) end the reading.
Result<std::vector<Error>> read_events(Storage& storage, const std::string& folder,
                                       const std::function<bool(const EventValue&)>& visit);

/// Returns the paths of a folder's event files, in the order of their names, so that older files come first.
Result<std::vector<std::string>> list_event_files(Storage& storage, const std::string& folder);

}  // namespace shoal::monitor
