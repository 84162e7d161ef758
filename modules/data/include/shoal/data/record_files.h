// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Options of Dataset::tf_records() and Dataset::fixed_length_records(), which read binary records; a writer of TFRecord.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/hidden.h"
#include "shoal/base/result.h"

namespace shoal {
class Storage;
class WritableFile;
}  // namespace shoal

namespace shoal::data {

struct TfRecordOptions {
  /// The most bytes of one record, at least 1. A longer record is DataLoss, and the reader stores no more of it.
  int64_t record_bytes_max = int64_t(256) << 20;
};

struct FixedLengthOptions {
  int64_t record_bytes = 0;  ///< The size of each record in bytes, >= 1.
  int64_t header_bytes = 0;  ///< Bytes to pass over at the start of each file.
  int64_t footer_bytes = 0;  ///< Bytes to ignore at the end of each file. Not for compressed files (unknown size).
};

/// Writes a TFRecord file, record by record. One thread at a time. Without finish() the file may end within a record.
class TfRecordWriter {
 public:
  /// Creates a file on this machine, or one in `storage`. Truncates an existing file.
  static Result<TfRecordWriter> create(const std::string& path);
  static Result<TfRecordWriter> create(Storage& storage, const std::string& path);
  TfRecordWriter(TfRecordWriter&&) noexcept;
  TfRecordWriter& operator=(TfRecordWriter&&) noexcept;
  ~TfRecordWriter();

  Result<void> append(std::string_view record);
  /// Returns once all records are on the disk.
  Result<void> finish();

 private:
  explicit TfRecordWriter(WritableFile* file);
  Hidden<WritableFile> file_;
};

}  // namespace shoal::data
