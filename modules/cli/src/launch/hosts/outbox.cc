// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/outbox.h"

#include <unistd.h>

#include <cerrno>

namespace shoal::cli::launch {

bool Outbox::send() {
  if (waits_for() < 0) return false;
  const size_t of_text = write(std::string_view(text_).substr(sent_));
  sent_ += of_text;
  size_t of_second = 0;
  if (sent_ == text_.size()) {
    text_.clear();
    sent_ = 0;
    of_second = write(second_);
    second_.remove_prefix(of_second);
  }
  if (closes_ && waits_for() < 0) to_.close();
  return of_text + of_second > 0;
}

size_t Outbox::write(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t count = ::write(to_.number(), bytes.data() + taken, bytes.size() - taken);
    if (count > 0) {
      taken += size_t(count);
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      const bool later = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      return later ? taken : bytes.size();
    }
  }
  return taken;
}

}  // namespace shoal::cli::launch
