#include "record_reader.h"

#include <algorithm>
#include <cstring>

#include "no_text.h"

namespace shoal::data {
namespace {

constexpr size_t kReadBytes = 64 << 10;

}  // namespace

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, std::string path, RecordOptions options)
    : source_(std::move(source)), path_(std::move(path)), options_(options), buffer_(kReadBytes) {}

Result<RecordReader> RecordReader::open(Storage& storage, std::string path, RecordOptions options) {
  auto source = open_bytes(storage, path);
  if (source) return RecordReader(std::move(*source), std::move(path), options);
  if (source.error().message().starts_with(path)) return std::move(source).error();
  return std::move(source).error().with_context(path);
}

Result<void> RecordReader::go_to(Place place) {
  while (place_.offset < place.offset) {
    if (begin_ == end_) {
      SHOAL_TRY(const bool more, refill());
      if (!more) {
        return failed_precondition(path_ + " is shorter (" + std::to_string(place_.offset) +
                                   " bytes) than the saved input position (" + std::to_string(place.offset) + ")");
      }
    }
    const auto step = size_t(std::min<uint64_t>(end_ - begin_, place.offset - place_.offset));
    begin_ += step;
    place_.offset += step;
  }
  place_ = place;
  return {};
}

/// More bytes after what is there; false at the end of the file.
Result<bool> RecordReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  SHOAL_TRY(const size_t count, source_->read(std::as_writable_bytes(std::span(buffer_).subspan(end_))));
  end_ += count;
  return count > 0;
}

/// An error of the first record, too, may come of a file that is no text, and then that is what helps.
Result<bool> RecordReader::next(std::string_view& record) {
  const bool first = place_.offset == 0;
  Result<bool> found = find(record);
  if (!first) return found;
  const char* const begin = found && *found ? record.data() : buffer_.data() + begin_;
  const std::string_view seen(begin, size_t(buffer_.data() + end_ - begin));
  const auto what = options_.quotes ? what_is_no_table(seen) : what_is_no_text(seen);
  if (what) return failed_precondition(path_ + " " + *what);
  return found;
}

/// The next record, as next() documents it, of a file that is text.
Result<bool> RecordReader::find(std::string_view& record) {
  size_t size = 0;  // The bytes looked at so far.
  bool quoted = false;
  uint64_t lines = 0;
  last_ = place_;
  for (;; ++size) {
    if (int64_t(size) > options_.record_bytes_max) {
      return too_long(quoted);
    }
    if (begin_ + size == end_) {
      SHOAL_TRY(const bool more, refill());
      if (more) {
        --size;
        continue;
      }
      if (size == 0) return false;
      if (quoted) return damaged("the file ends inside a quoted field");
      break;
    }
    const char c = buffer_[begin_ + size];
    if (options_.quotes && c == '"') quoted = !quoted;  // A doubled quote changes it twice.
    if (c != '\n') continue;
    ++lines;
    if (!quoted) break;
  }
  const bool ended = lines > 0 && buffer_[begin_ + size] == '\n' && begin_ + size < end_;
  record = std::string_view(buffer_.data() + begin_, size);
  if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
  begin_ += size + ended;
  place_.offset += size + ended;
  place_.line += lines;
  return true;
}

Error RecordReader::too_long(bool quoted) const {
  return damaged("the record is longer than " + std::to_string(options_.record_bytes_max) + " bytes (line_bytes_max" +
                 (options_.quotes ? ", --line-bytes-max)" : ")") +
                 (quoted ? "; it is inside of quotes there: does a quote in it have no end?" : ""));
}

Error RecordReader::damaged(const std::string& sentence) const {
  return data_loss(path_ + ", line " + std::to_string(last_.line) + " (offset " + std::to_string(last_.offset) +
                   "): " + sentence);
}

}  // namespace shoal::data
