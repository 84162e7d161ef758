// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The signals that by default end a process that writes to a pipe without a reader, or beyond a limit of file sizes.
#include <vector>

namespace shoal {

/// Which signals are ignored, so that the failing write returns an error instead.
struct WriteSignals {
  bool pipe = true;       ///< SIGPIPE: the reader of a pipe is gone (EPIPE).
  bool file_size = true;  ///< SIGXFSZ: the file would be larger than `ulimit -f` allows (EFBIG).
};

/// While an object of this class lives, the chosen signals have no effect. Since it changes handlers of the whole process,
/// only programs make one: shoal::run() and the program `shoal`. Signals that were ignored or handled before stay so, and
/// programs that this process starts get the system's handling. One at a time.
class WriteSignalsAsErrors {
 public:
  explicit WriteSignalsAsErrors(WriteSignals which = {});
  ~WriteSignalsAsErrors();
  WriteSignalsAsErrors(const WriteSignalsAsErrors&) = delete;
  WriteSignalsAsErrors& operator=(const WriteSignalsAsErrors&) = delete;

 private:
  void disarm(int signal);

  std::vector<int> disarmed_;  // The signals that had the system's default handling before.
};

}  // namespace shoal
