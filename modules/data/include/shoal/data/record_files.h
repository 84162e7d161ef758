// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What files of binary records are: options of Dataset::tf_records() and Dataset::fixed_length_records(); and a writer of TFRecord.
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
  /// The most bytes of one record; a longer one is DataLoss, before more of it is kept. At least 1.
  int64_t record_bytes_max = int64_t(256) << 20;
};

struct FixedLengthOptions {
  int64_t record_bytes = 0;  ///< Bytes of each record, >= 1.
  int64_t header_bytes = 0;  ///< Bytes that are passed over at the start of each file.
  int64_t footer_bytes = 0;  ///< Bytes at its end that are no records. Not for a compressed file, of which nobody knows where it ends.
};

/// Writes a TFRecord file, record by record. One thread at a time. Destroyed before finish(), it leaves a file that ends somewhere.
class TfRecordWriter {
 public:
  /// A file of this machine, or one of `storage`. Truncates a file that is there.
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
