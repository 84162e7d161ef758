// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signals by which the system ends a process that writes where it cannot.
#include <vector>

namespace shoal {

/// Which of them become the error of the write that they come with.
struct WriteSignals {
  bool pipe = true;       ///< SIGPIPE: the reader of a pipe is gone (EPIPE).
  bool file_size = true;  ///< SIGXFSZ: the file would be larger than `ulimit -f` allows (EFBIG).
};

/// While it lives, these signals have no effect. It is a whole program's decision, and so made by shoal::run() and by `shoal`
/// itself: a library changes no handler. What was ignored, or handled, before stays so, and programs that this process starts
/// meet the signals as ever. One at a time.
class WriteSignalsAsErrors {
 public:
  explicit WriteSignalsAsErrors(WriteSignals which = {});
  ~WriteSignalsAsErrors();
  WriteSignalsAsErrors(const WriteSignalsAsErrors&) = delete;
  WriteSignalsAsErrors& operator=(const WriteSignalsAsErrors&) = delete;

 private:
  void disarm(int signal);

  std::vector<int> disarmed_;  // Those that had the system's handling before.
};

}  // namespace shoal
