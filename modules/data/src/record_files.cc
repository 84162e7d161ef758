// SPDX-License-Identifier: Apache-2.0
// TFRecord and fixed-length records: the records of files, one file after another.
#include "shoal/data/record_files.h"

#include <algorithm>
#include <array>

#include "byte_source.h"
#include "nodes.h"
#include "shoal/base/record_framing.h"
#include "shoal/base/storage.h"

namespace shoal::data {
namespace {

/// One file of records, read from its start.
class RecordFile {
 public:
  RecordFile(std::unique_ptr<ByteSource> source, std::string path) : source_(std::move(source)), path_(std::move(path)) {}
  uint64_t offset() const { return offset_; }
  uint64_t left_max() const { return source_->left_max(); }
  bool knows_its_end() const { return source_->knows_its_end(); }
  const std::string& path() const { return path_; }

  /// Fills `out`; false at the end of the file, where nothing is left. DataLoss if only a part of it is there.
  Result<bool> read(std::span<char> out, std::string_view what) {
    SHOAL_TRY(const size_t count, source_->read(std::as_writable_bytes(out)));
    offset_ += count;
    if (count == out.size()) return true;
    if (count == 0) return false;
    return cut(what);
  }
  /// Passes over `bytes` of a record; false at the end of the file.
  Result<bool> skip(uint64_t bytes, std::string_view what) {
    SHOAL_TRY(const uint64_t count, source_->skip(bytes));
    offset_ += count;
    if (count == bytes) return true;
    if (count == 0) return false;
    return cut(what);
  }
  Result<void> go_to(uint64_t offset) {
    if (offset < offset_) return damaged_position();
    SHOAL_TRY(const uint64_t skipped, source_->skip(offset - offset_));
    const bool there = skipped == offset - offset_;
    offset_ += skipped;
    return there ? Result<void>() : damaged_position();
  }

  /// Counts records, for errors.
  void begin_record() { begin_ = offset_, ++number_; }
  void set_number(uint64_t number) { number_ = number; }
  uint64_t number() const { return number_; }
  Error damaged(const std::string& what) const {
    return data_loss(path_ + ", record " + std::to_string(number_) + " (offset " + std::to_string(begin_) + "): " + what);
  }
  Error cut(std::string_view what) const { return damaged("the file ends within " + std::string(what)); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string path_;
  uint64_t offset_ = 0, begin_ = 0;
  uint64_t number_ = 0;  // Counted from 1.
};

/// length, its checksum, the record, its checksum.
class TfRecordFormat {
 public:
  explicit TfRecordFormat(const TfRecordOptions& options) : options_(options) {}
  static Result<void> begin(RecordFile&) { return {}; }

  Result<bool> next(RecordFile& file, Element& element) {
    SHOAL_TRY(const bool more, read_length(file));
    if (!more) return false;
    std::string& record = text_of(element);
    record.clear();
    // The record is read in pieces, so that a file with a false length takes no more memory than it has bytes.
    while (record.size() < length_) {
      constexpr uint64_t kGrowth = uint64_t(1) << 20;
      const size_t begin = record.size();
      record.resize(begin + size_t(std::min(kGrowth, length_ - begin)));
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

  /// The one text of `element`, whose storage is reused.
  static std::string& text_of(Element& element) {
    if (!element.features.is_single()) element.features = TensorMap(Tensor());
    element.labels = TensorMap();
    Tensor& text = *element.features.find("");
    if (text.dtype() != DType::kString || text.shape() != Shape{} || !text.unique()) text = Tensor(DType::kString, Shape{});
    return text.mutable_strings()[0];
  }

  const TfRecordOptions options_;
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
  /// False where only the footer is left.
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

  const FixedLengthOptions options_;
};

/// A position names a file, a place in it, and how many records come before that.
template <class Format>
class RecordStage final : public Stage {
 public:
  RecordStage(const std::vector<std::string>& paths, Format format, StageContext& context)
      : paths_(paths), format_(std::move(format)), context_(context), first_file_(context.add_files(paths)) {}

  Result<bool> next(Item& item) override {
    Element& element = item.own();
    SHOAL_TRY(const bool more, next_of_some_file([&] { return format_.next(*file_, element); }));
    if (more) item.set_record(StageContext::numbered_record(first_file_ + at_, file_->number()));
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    for (int64_t skipped = 0; skipped < count; ++skipped) {
      SHOAL_TRY(const bool more, next_of_some_file([&] { return format_.skip(*file_); }));
      if (!more) return skipped;
    }
    return count;
  }
  Result<void> restart() override {
    file_.reset();
    at_ = 0;
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    out.number(at_);
    out.flag(file_.has_value());
    out.number(file_ ? file_->offset() : 0);
    out.number(file_ ? file_->number() : 0);
    return {};
  }
  Result<void> load(StateReader& in) override {
    file_.reset();
    SHOAL_TRY(const int64_t at, in.count(int64_t(paths_.size())));
    SHOAL_TRY(const bool inside, in.flag());
    SHOAL_TRY(const uint64_t offset, in.number());
    SHOAL_TRY(const uint64_t number, in.number());
    at_ = size_t(at);
    if (!inside) return {};
    if (at_ >= paths_.size()) return damaged_position();
    SHOAL_TRY_VOID(open());
    SHOAL_TRY_VOID(file_->go_to(offset));
    file_->set_number(number);
    return {};
  }

 private:
  template <class Read>
  Result<bool> next_of_some_file(const Read& read) {
    for (; at_ < paths_.size(); ++at_, file_.reset()) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (!file_) SHOAL_TRY_VOID(open());
      SHOAL_TRY(const bool more, read());
      if (more) return true;
    }
    return false;
  }
  Result<void> open() {
    SHOAL_TRY(auto source, open_bytes(context_.env.storage(), paths_[at_], context_.stop));
    file_.emplace(std::move(source), paths_[at_]);
    return format_.begin(*file_);
  }

  const std::vector<std::string>& paths_;
  Format format_;
  StageContext& context_;
  const uint64_t first_file_;  // The number that the iterator gave to the first file.
  size_t at_ = 0;
  std::optional<RecordFile> file_;  // None: it is not opened yet.
};

template <class Format, class Options>
class RecordNode final : public Node {
 public:
  RecordNode(std::vector<std::string> paths, Options options, std::string_view kind)
      : paths_(std::move(paths)), options_(options), kind_(kind) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<RecordStage<Format>>(paths_, Format(options_), context);
  }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, kind_);
    for (const std::string& path : paths_) key = fold_in(key, path);
    key = fold_in(key, paths_.size());
    if constexpr (std::is_same_v<Options, FixedLengthOptions>) {
      key = fold_in(fold_in(fold_in(key, uint64_t(options_.record_bytes)), uint64_t(options_.header_bytes)),
                    uint64_t(options_.footer_bytes));
    }
    return key;
  }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }

 private:
  const std::vector<std::string> paths_;
  const Options options_;
  const std::string_view kind_;
};

}  // namespace

NodePtr make_tf_records_node(std::vector<std::string> paths, TfRecordOptions options) {
  return std::make_shared<RecordNode<TfRecordFormat, TfRecordOptions>>(std::move(paths), options, "tf_records");
}

NodePtr make_fixed_length_node(std::vector<std::string> paths, FixedLengthOptions options) {
  return std::make_shared<RecordNode<FixedLengthFormat, FixedLengthOptions>>(std::move(paths), options, "fixed length");
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
