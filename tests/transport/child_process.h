// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The test program once more, as a peer that can be stopped and killed.
#include <sys/types.h>

#include <string>
#include <vector>

namespace shoal::transport {

class ChildProcess {
 public:
  /// Starts it with these words after its name, which its main() knows.
  explicit ChildProcess(std::vector<std::string> words);
  ~ChildProcess();  ///< Kills the process.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  void signal(int number);
  void kill();  ///< Does what kill -9 does.

 private:
  pid_t id_ = -1;
};

}  // namespace shoal::transport
