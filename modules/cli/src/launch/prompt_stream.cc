// SPDX-License-Identifier: Apache-2.0
#include "launch/prompt_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "shoal/base/prompt_write.h"

namespace shoal::cli::launch {
namespace {

constexpr size_t kKeptBytesMax = size_t(4) << 20;
constexpr Duration kRetryAfter = std::chrono::milliseconds(50);

}  // namespace

void PromptStream::send(SteadyTime now) {
  retry_at_.reset();
  if (to_.file() == nullptr) {
    to_ << new_;
    new_.clear();
    return;
  }
  keep_or_lose();
  const PromptWrite done = write_promptly(::fileno(to_.file()), kept_);
  if (done.bytes > 0) in_line_ = kept_[done.bytes - 1] != '\n';
  kept_.erase(0, done.bytes);
  if (done.error != 0 && done.error != EAGAIN) {
    to_.note_failure();
    lose(kept_);
    if (told_count_ > 0)
      lost_count_ += told_count_ - 1;  // The line that told of them is lost itself, and is none of theirs.
  }
  if (kept_.empty()) told_count_ = 0;
  if (done.bytes > 0 || kept_.empty()) taken_at_ = now;
  // A terminal may say for ever that it accepts bytes, and accept none: it has room for one byte, and a line's end needs two.
  if (done.bytes == 0 && !kept_.empty()) retry_at_ = now + kRetryAfter;
}

/// Keeps the new text. Once the limit is reached, loses all new text until the reader has taken half of the kept text.
void PromptStream::keep_or_lose() {
  const size_t room = lost_count_ > 0 ? kKeptBytesMax / 2 : kKeptBytesMax;
  if (kept_.size() >= room && !keeps_all_) return lose(new_);
  if (lost_count_ > 0) {
    if (kept_.empty() && in_line_) kept_ += "\n";
    kept_ += "[" + name_ + "] " + std::to_string(lost_count_) + (lost_count_ == 1 ? " line is" : " lines are") +
             " missing here: nobody read this stream, or it could not be written\n";
    told_count_ += std::exchange(lost_count_, 0);
  }
  kept_ += new_;
  new_.clear();
}

void PromptStream::lose(std::string& text) {
  lost_count_ += uint64_t(std::count(text.begin(), text.end(), '\n'));
  text.clear();
}

int PromptStream::waits_for() const { return kept_.empty() || retry_at_ ? -1 : ::fileno(to_.file()); }

std::optional<SteadyTime> PromptStream::waits_for_reader_until(SteadyTime now) const {
  const SteadyTime until = taken_at_ + kPatience;
  if (kept_.size() + new_.size() < kKeptBytesMax || now >= until) return std::nullopt;
  return until;
}

bool are_one_stream(const TextOutput& first, const TextOutput& second) {
  if (first.file() == nullptr || second.file() == nullptr) return false;
  struct stat one {
  }, other{};
  if (::fstat(::fileno(first.file()), &one) != 0 || ::fstat(::fileno(second.file()), &other) != 0) return false;
  return !S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace shoal::cli::launch
