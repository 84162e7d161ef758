// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file of cache(path): the elements of one pass, in compressed, checked blocks (docs/formats.md, "Files of cache()").
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/data/element.h"
#include "state.h"

namespace shoal::data {

/// Whether `file` begins as each file of cache(path) does, finished or not, of whatever version. If not, it is somebody's
/// own file.
Result<bool> begins_as_cache_file(const ReadableFile& file);

/// Writes the file, element by element. Without finish(), the file stays incomplete, and readers refuse it.
class CacheFileWriter {
 public:
  /// Creates the file, or truncates an older one. `fingerprint` identifies the pipeline that makes the elements.
  static Result<CacheFileWriter> create(Storage& storage, const std::string& path, uint64_t fingerprint, bool compress);
  Result<void> append(const Element& element);
  /// Returns once the whole file is on the disk.
  Result<void> finish();

 private:
  struct Block {
    uint64_t offset = 0;         ///< The offset of the block's record in the file.
    uint64_t first_element = 0;  ///< The number of the block's first element.
  };
  CacheFileWriter(std::unique_ptr<WritableFile> file, bool compress) : file_(std::move(file)), compress_(compress) {}
  Result<void> write_block();
  Result<void> write_record(std::string_view payload);

  std::unique_ptr<WritableFile> file_;
  bool compress_;
  uint64_t offset_ = 0;
  std::string element_, raw_;  // The bytes of the newest element, and of all elements of the block being filled.
  uint64_t elements_ = 0, block_elements_ = 0, contents_ = 0;
  std::vector<Block> blocks_;
};

/// Reads a file of cache(path). It holds one block in memory, and 16 bytes for each block of the file.
class CacheFileReader {
 public:
  /// NotFound if there is no file; FailedPrecondition if it does not begin as a file of cache(path), or this build cannot
  /// unpack it. This and all other calls return DataLoss, with file and offset, for a damaged file.
  static Result<CacheFileReader> open(Storage& storage, std::string path);
  uint64_t fingerprint() const { return fingerprint_; }
  uint64_t elements() const { return elements_; }
  /// A hash of all elements: files with equal hashes hold equal elements.
  uint64_t contents() const { return contents_; }
  /// Reads the next element; false at the end.
  Result<bool> next(Element& element);
  /// Makes element `number` the next one; `number` is at most elements().
  void go_to(uint64_t number) { next_ = number; }
  uint64_t next_number() const { return next_; }

 private:
  struct Block {
    uint64_t offset = 0, first_element = 0;
  };
  CacheFileReader(std::unique_ptr<ReadableFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<void> read_header();
  Result<void> read_index();
  Result<void> parse_index(std::string_view index, uint64_t offset);
  Result<std::string> read_record(uint64_t offset, uint64_t end) const;
  Result<void> load_block(size_t block);
  Result<void> unpack(std::string payload, uint64_t offset);
  Error damaged(uint64_t offset, const std::string& why) const;

  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  uint64_t fingerprint_ = 0, elements_ = 0, contents_ = 0, index_offset_ = 0;
  bool compressed_ = false;
  std::vector<Block> blocks_;

  uint64_t next_ = 0;
  static constexpr size_t kNoBlock = size_t(-1);
  size_t block_ = kNoBlock;  // The number of the block that is in memory.
  std::string raw_;          // The bytes of the elements of block_.
  uint64_t element_ = 0;     // The number of the element that begins at raw_[at_].
  size_t at_ = 0;
};

}  // namespace shoal::data
