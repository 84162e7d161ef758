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

/// While an object of this class lives, the chosen signals have no effect. There may be only one such object at a time.
/// Since it changes signal handlers of the whole process, libraries make none, but shoal::run() and the program `shoal` do.
/// A signal that the process ignored or handled before keeps that handling. Programs that this process starts get the
/// system's default handling.
class WriteSignalsAsErrors {
 public:
  explicit WriteSignalsAsErrors(WriteSignals which = {});
  ~WriteSignalsAsErrors();
  WriteSignalsAsErrors(const WriteSignalsAsErrors&) = delete;
  WriteSignalsAsErrors& operator=(const WriteSignalsAsErrors&) = delete;

 private:
  void disarm(int signal);

  std::vector<int> disarmed_;  // Signals that this object changed. Before, they had the default handling.
};

}  // namespace shoal
