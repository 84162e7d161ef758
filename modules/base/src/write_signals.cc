// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/write_signals.h"

#include <signal.h>

namespace shoal {
namespace {

/// Does nothing. It is used instead of SIG_IGN, since programs that this process starts would inherit SIG_IGN; they do not
/// inherit handlers.
extern "C" void shoal_on_failing_write(int) {}

}  // namespace

WriteSignalsAsErrors::WriteSignalsAsErrors(WriteSignals which) {
  if (which.pipe) disarm(SIGPIPE);
  if (which.file_size) disarm(SIGXFSZ);
}

WriteSignalsAsErrors::~WriteSignalsAsErrors() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int signal : disarmed_) ::sigaction(signal, &standard, nullptr);
}

void WriteSignalsAsErrors::disarm(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  if (now.sa_handler != SIG_DFL) return;
  disarmed_.push_back(signal);
  struct sigaction nothing {};
  nothing.sa_handler = shoal_on_failing_write;
  nothing.sa_flags = SA_RESTART;
  sigemptyset(&nothing.sa_mask);
  ::sigaction(signal, &nothing, nullptr);
}

}  // namespace shoal
