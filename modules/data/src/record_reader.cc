// SPDX-License-Identifier: Apache-2.0
#include "record_reader.h"

#include <algorithm>
#include <cstring>

#include "no_text.h"
#include "shoal/base/random.h"

namespace shoal::data {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kHashedBytes = 240;  // Of the text before a place. For longer texts XXH3 takes several times as long.

}  // namespace

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, std::string path, RecordOptions options)
    : source_(std::move(source)),
      path_(std::move(path)),
      options_(std::move(options)),
      buffer_(kReadBytes + kHashedBytes) {}

Result<RecordReader> RecordReader::open(Storage& storage, std::string path, RecordOptions options) {
  auto source = open_bytes(storage, path, options.stop);
  if (source) return RecordReader(std::move(*source), std::move(path), std::move(options));
  if (source.error().message().starts_with(path)) return std::move(source).error();
  return std::move(source).error().with_context(path);
}

Result<void> RecordReader::go_to(Place place, std::optional<uint64_t> text_hash) {
  const uint64_t first = place_.offset;  // Behind a byte order mark and the header.
  if (place.offset < first) return changed(place, "its header is longer");
  while (place_.offset < place.offset) {
    if (begin_ == end_) {
      SHOAL_TRY(const bool more, refill());
      if (!more) return changed(place, "it has only " + std::to_string(place_.offset) + " bytes");
    }
    const auto step = size_t(std::min<uint64_t>(end_ - begin_, place.offset - place_.offset));
    begin_ += step;
    place_.offset += step;
  }
  place_ = place;
  if (text_hash && *text_hash != hash_before()) return changed(place, "the text before that is another one");
  if (place.offset == first || text_before().ends_with('\n')) return {};
  // The last record of a file may lack its line end. A reader that had returned this record was at the end of the file.
  bool more = begin_ < end_;
  if (!more) {
    SHOAL_TRY(more, refill());
  }
  return more ? changed(place, "no line ends there") : Result<void>();
}

uint32_t RecordReader::hash_before() const { return uint32_t(hash64(text_before())); }

std::string_view RecordReader::text_before() const {
  const auto size = size_t(std::min<uint64_t>(place_.offset, kHashedBytes));
  return {buffer_.data() + begin_ - size, size};
}

/// Reads more bytes behind those in the buffer; false at the end of the file. Keeps text_before() in the buffer.
Result<bool> RecordReader::refill() {
  if (begin_ > kHashedBytes) {
    const size_t passed = begin_ - kHashedBytes;
    std::memmove(buffer_.data(), buffer_.data() + passed, end_ - passed);
    end_ -= passed;
    begin_ -= passed;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  SHOAL_TRY(const size_t count, source_->read(std::as_writable_bytes(std::span(buffer_).subspan(end_))));
  end_ += count;
  return count > 0;
}

/// Passes over a byte order mark, which belongs to the file, not to its first record. Reads no more bytes than it needs to
/// see that there is no mark: a program may write one short record to a pipe and wait for the answer.
Result<void> RecordReader::pass_over_mark() {
  for (;;) {
    const std::string_view seen(buffer_.data() + begin_, end_ - begin_);
    const size_t size = byte_order_mark_in(seen);
    begin_ += size;
    place_.offset += size;
    if (size > 0 || !may_become_byte_order_mark(seen)) return {};
    SHOAL_TRY(const bool more, refill());
    if (!more) return {};
  }
}

/// At the file's start, also checks that the file is text. If it is an archive, for example, an error that says so helps a
/// user more than an error in the first record.
Result<bool> RecordReader::next(std::string_view& record) {
  if (place_.offset > 0) return find(record);
  SHOAL_TRY_VOID(pass_over_mark());
  Result<bool> found = find(record);
  const char* const begin = found && *found ? record.data() : buffer_.data() + begin_;
  const std::string_view seen(begin, size_t(buffer_.data() + end_ - begin));
  const auto what = options_.table ? what_is_no_table(seen, *options_.table) : what_are_no_lines(seen);
  if (what) return failed_precondition(path_ + " " + *what);
  return found;
}

/// Returns the next record of a text file, as next() documents.
Result<bool> RecordReader::find(std::string_view& record) {
  Walk walk;
  last_ = place_;
  for (;;) {
    const bool ended = find_end(walk);
    if (int64_t(walk.size) > options_.record_bytes_max) return too_long(walk);
    if (ended) {
      hand_out(walk, true, record);
      return true;
    }
    SHOAL_TRY(const bool more, refill());
    if (more) continue;
    if (walk.size == 0) return false;
    if (walk.state == CsvState::kQuoted) {
      return damaged(
          "the file ends inside of the quoted field that begins here; if the file knows no quoting, set quoting to "
          "false (--no-quoting)",
          walk.open);
    }
    hand_out(walk, false, record);
    return true;
  }
}

/// Moves `walk` on to the line end that ends the record, or to the end of the bytes in the buffer. Returns whether it found
/// that line end; walk.size does not include the line end.
bool RecordReader::find_end(Walk& walk) const {
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  while (walk.size < text.size()) {
    const std::string_view rest = text.substr(walk.size);
    const size_t line_end = rest.find('\n');
    const std::string_view line = rest.substr(0, line_end);
    // Most records are one line without a quote. The CSV state need not be computed for the bytes of such a line.
    const bool plain =
        walk.state != CsvState::kQuoted && line_end != std::string_view::npos && line.find('"') == std::string_view::npos;
    if (options_.table && !plain) {
      walk_through(line, walk);
    } else {
      walk.size += line.size();
    }
    if (line_end == std::string_view::npos) return false;
    if (walk.state != CsvState::kQuoted) return true;
    step(walk, '\n');
    ++walk.lines;
    if (int64_t(walk.size) > options_.record_bytes_max) return false;
  }
  return false;
}

/// Moves `walk` over `line`, which may be a part of a line. Calls step(), which updates the CSV state, only for bytes that
/// may change the state, and skips the bytes between them.
void RecordReader::walk_through(std::string_view line, Walk& walk) const {
  for (size_t at = 0; at < line.size();) {
    const size_t begin = at;
    if (walk.state == CsvState::kQuoted) {
      at = std::min(line.find('"', at), line.size());
    } else if (walk.state == CsvState::kUnquoted) {
      while (at < line.size() && line[at] != options_.table->separator && line[at] != '"' && line[at] != '\r') ++at;
    }
    walk.size += at - begin;
    if (at < line.size()) step(walk, line[at++]);
  }
}

void RecordReader::step(Walk& walk, char c) const {
  const CsvState after = csv_state_after(walk.state, c, *options_.table);
  if (walk.state == CsvState::kFieldBegin && after == CsvState::kQuoted) {
    walk.open = {place_.offset + walk.size, place_.line + walk.lines};
  }
  walk.state = after;
  ++walk.size;
}

void RecordReader::hand_out(const Walk& walk, bool ended, std::string_view& record) {
  record = std::string_view(buffer_.data() + begin_, walk.size);
  if (record.ends_with('\r')) record.remove_suffix(1);
  begin_ += walk.size + ended;
  place_.offset += walk.size + ended;
  place_.line += walk.lines + ended;
}

Error RecordReader::too_long(const Walk& walk) const {
  const std::string sentence = "the record is longer than " + std::to_string(options_.record_bytes_max) +
                               " bytes (line_bytes_max, --line-bytes-max)";
  if (walk.state != CsvState::kQuoted) return damaged(sentence, last_);
  return damaged(sentence +
                     "; the quoted field that begins here has no end before that: is one of its quotes missing, or does "
                     "the file know no quoting (quoting false, --no-quoting)?",
                 walk.open);
}

Error RecordReader::damaged_at(const std::string& sentence, std::string_view record, size_t at) const {
  const auto lines = uint64_t(std::count(record.begin(), record.begin() + ptrdiff_t(at), '\n'));
  return damaged(sentence, {last_.offset + at, last_.line + lines});
}

std::optional<std::string> RecordReader::remark() const { return passed_over_remark(*source_, path_); }

std::string RecordReader::text_of(Place place) const {
  return path_ + ", line " + std::to_string(place.line) + " (offset " + std::to_string(place.offset) + ")";
}

Error RecordReader::changed(Place place, const std::string& how) const {
  return failed_precondition(text_of(place) + ": the file was changed after this input position was saved: " + how);
}

Error RecordReader::damaged(const std::string& sentence, Place place) const {
  return data_loss(text_of(place) + ": " + sentence);
}

}  // namespace shoal::data
