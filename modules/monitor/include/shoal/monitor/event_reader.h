// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads event files, of ours and of others, also while they are being written.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/monitor/event.h"

namespace shoal::monitor {

/// One file, from its start. Not thread-safe.
class EventFileReader {
 public:
  EventFileReader(Storage& storage, std::string path) : storage_(storage), path_(std::move(path)) {}

  /// The next value. False: no complete record for now; call again when the file may have grown. A cut last record is a
  /// record that is not complete yet, no error. DataLoss (with path and offset) at a record whose checksum or contents are
  /// wrong: what came before has been returned, and every later call returns the same error.
  Result<bool> next(EventValue& value);
  /// The starts of training that were read since the last call, in their order: they come before the value that the last next()
  /// returned, and behind all values before that.
  std::vector<EventStart> take_starts() { return std::exchange(starts_, {}); }
  /// True if bytes of an incomplete record follow the last complete one.
  bool cut() const;
  const std::string& path() const { return path_; }

 private:
  Result<bool> read_record();
  Result<bool> fill(uint64_t bytes);

  Storage& storage_;
  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;  // Where buffer_[consumed_] is in the file.
  std::string buffer_;
  size_t consumed_ = 0;
  std::vector<EventValue> pending_;  // Events of the current record that were not returned yet, in reverse.
  std::vector<EventStart> starts_;
  std::optional<Error> damage_;
};

/// All event files of a folder, by name, which is the order of opening (see event_writer.h): one history. `visit` sees every value in
/// that order; returning false stops. Returns one DataLoss per damaged file (read up to the damage). A missing folder
/// has no events. Other errors (not permitted, input/output) end the reading.
Result<std::vector<Error>> read_events(Storage& storage, const std::string& folder,
                                       const std::function<bool(const EventValue&)>& visit);

/// The paths of a folder's event files, in the order of the history.
Result<std::vector<std::string>> list_event_files(Storage& storage, const std::string& folder);

}  // namespace shoal::monitor
