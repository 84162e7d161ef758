// SPDX-License-Identifier: Apache-2.0
// Datasets of the records of TFRecord files, and of files with records of fixed length. Reads one file after another.
#include "shoal/data/record_files.h"

#include <algorithm>
#include <array>
#include "record_stage.h"
#include "shoal/base/record_framing.h"
#include "shoal/base/storage.h"

namespace shoal::data {
namespace {

/// A record of TFRecord is: the length, the checksum of the length, the bytes, the checksum of the bytes.
class TfRecordFormat {
 public:
  explicit TfRecordFormat(const TfRecordOptions& options) : options_(options) {}
  static Result<void> begin(RecordFile&) { return {}; }
  static Result<void> resume(RecordFile& file, uint64_t offset) { return file.go_to(offset); }
  static RandomKey fold_parameters(RandomKey key) { return key; }

  Result<bool> next(RecordFile& file, Element& element) {
    SHOAL_TRY(const bool more, read_length(file));
    if (!more) return false;
    std::string& record = text_of(element);
    if (record.size() > length_) record.resize(size_t(length_));  // Only shortens the text; the loop below lengthens it.
    // The record is read in pieces, so that a file with a false length takes no more memory than it has bytes.
    for (size_t begin = 0; begin < length_; begin = record.size()) {
      constexpr uint64_t kGrowth = uint64_t(1) << 20;
      if (begin == record.size()) record.resize(begin + size_t(std::min(kGrowth, length_ - begin)));
      SHOAL_TRY(const bool there, file.read(std::span(record).subspan(begin), "a record"));
      if (!there) return file.cut("a record");
    }
    std::array<char, kRecordTailBytes> tail{};
    SHOAL_TRY(const bool there, file.read(tail, "a checksum"));
    if (!there) return file.cut("a checksum");
    const auto expected = load_little_endian<uint32_t>(std::string_view(tail.data(), tail.size()));
    if (masked_crc(crc32c(record)) == expected) return true;
    return file.damaged("its checksum is not that of its " + std::to_string(length_) + " bytes");
  }

  Result<bool> skip(RecordFile& file) {
    SHOAL_TRY(const bool more, read_length(file));
    if (!more) return false;
    SHOAL_TRY(const bool there, file.skip(length_ + kRecordTailBytes, "a record"));
    if (!there) return file.cut("a record");
    return true;
  }

 private:
  Result<bool> read_length(RecordFile& file) {
    file.begin_record();
    std::array<char, kRecordHeadBytes> head{};
    SHOAL_TRY(const bool more, file.read(head, "the length of a record"));
    if (!more) return false;
    const std::string_view text(head.data(), head.size());
    if (masked_crc(crc32c(text.substr(0, 8))) != load_little_endian<uint32_t>(text.substr(8))) {
      return file.damaged("the checksum of its length is wrong: the file is damaged, or no TFRecord file");
    }
    length_ = load_little_endian<uint64_t>(text);
    if (length_ > uint64_t(options_.record_bytes_max)) {
      return file.damaged("it has " + std::to_string(length_) + " bytes, more than record_bytes_max, " +
                          std::to_string(options_.record_bytes_max));
    }
    if (file.left_max() < kRecordTailBytes || length_ > file.left_max() - kRecordTailBytes) return file.cut("a record");
    return true;
  }

  /// Makes `element` consist of one text, and returns this text for the caller to overwrite. Keeps the text's memory if
  /// no one else refers to it.
  static std::string& text_of(Element& element) {
    if (!element.features.is_single()) element.features = TensorMap(Tensor());
    element.labels = TensorMap();
    Tensor& text = *element.features.find("");
    if (text.dtype() != DType::kString || text.shape() != Shape{} || !text.unique()) text = Tensor(DType::kString, Shape{});
    return text.mutable_strings()[0];
  }

  TfRecordOptions options_;
  uint64_t length_ = 0;
};

class FixedLengthFormat {
 public:
  explicit FixedLengthFormat(const FixedLengthOptions& options) : options_(options) {}

  Result<void> begin(RecordFile& file) const {
    if (options_.footer_bytes > 0 && !file.knows_its_end()) {
      return failed_precondition(file.path() + ": footer_bytes is " + std::to_string(options_.footer_bytes) +
                                 ", but nobody knows where a compressed file ends; unpack it");
    }
    if (options_.header_bytes == 0) return {};
    SHOAL_TRY(const bool there, file.skip(uint64_t(options_.header_bytes), "the header"));
    return there ? Result<void>() : file.cut("the header");
  }
  Result<void> resume(RecordFile& file, uint64_t offset) const {
    SHOAL_TRY_VOID(begin(file));
    return file.go_to(offset);
  }
  RandomKey fold_parameters(RandomKey key) const {
    key = fold_in(fold_in(key, uint64_t(options_.record_bytes)), uint64_t(options_.header_bytes));
    return fold_in(key, uint64_t(options_.footer_bytes));
  }
  Result<bool> next(RecordFile& file, Element& element) {
    SHOAL_TRY(const bool more, begin_record(file));
    if (!more) return false;
    if (!element.features.is_single()) element.features = TensorMap(Tensor());
    element.labels = TensorMap();
    Tensor& bytes = *element.features.find("");
    const Shape shape{options_.record_bytes};
    if (bytes.dtype() != DType::kUInt8 || !(bytes.shape() == shape) || !bytes.unique())
      bytes = Tensor(DType::kUInt8, shape);
    const std::span<uint8_t> out = bytes.mutable_as<uint8_t>();
    return file.read({reinterpret_cast<char*>(out.data()), out.size()}, "a record");
  }
  Result<bool> skip(RecordFile& file) {
    SHOAL_TRY(const bool more, begin_record(file));
    if (!more) return false;
    return file.skip(uint64_t(options_.record_bytes), "a record");
  }

 private:
  /// Begins a record. False if only the footer is left.
  Result<bool> begin_record(RecordFile& file) const {
    file.begin_record();
    const auto footer = uint64_t(options_.footer_bytes);
    if (footer == 0) return true;
    const uint64_t left = file.left_max();
    if (left == footer) return false;
    if (left < footer) return file.cut("the footer");
    if (left - footer < uint64_t(options_.record_bytes)) return file.cut("the record before the footer");
    return true;
  }

  FixedLengthOptions options_;
};

}  // namespace

NodePtr make_tf_records_node(std::vector<std::string> paths, TfRecordOptions options) {
  return std::make_shared<RecordNode<TfRecordFormat>>(std::move(paths), TfRecordFormat(options), "tf_records");
}

NodePtr make_fixed_length_node(std::vector<std::string> paths, FixedLengthOptions options) {
  return std::make_shared<RecordNode<FixedLengthFormat>>(std::move(paths), FixedLengthFormat(options),
                                                         "fixed_length_records");
}

TfRecordWriter::TfRecordWriter(WritableFile* file) : file_(file) {}
TfRecordWriter::TfRecordWriter(TfRecordWriter&&) noexcept = default;
TfRecordWriter& TfRecordWriter::operator=(TfRecordWriter&&) noexcept = default;
TfRecordWriter::~TfRecordWriter() = default;

Result<TfRecordWriter> TfRecordWriter::create(const std::string& path) { return create(*make_file_storage(), path); }

Result<TfRecordWriter> TfRecordWriter::create(Storage& storage, const std::string& path) {
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage.create(path));
  return TfRecordWriter(file.release());
}

Result<void> TfRecordWriter::append(std::string_view record) {
  std::string framed;
  append_record(framed, record);
  return file_->append(std::as_bytes(std::span(framed)));
}

Result<void> TfRecordWriter::finish() {
  SHOAL_TRY_VOID(file_->sync());
  return file_->close();
}

}  // namespace shoal::data
