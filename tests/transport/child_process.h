#pragma once
/// The test program once more, as a peer that can be stopped and killed.
#include <sys/types.h>

#include <string>
#include <vector>

namespace shoal::transport {

class ChildProcess {
 public:
  /// With these words after its name, which its main() knows.
  explicit ChildProcess(std::vector<std::string> words);
  ~ChildProcess();  ///< kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  void signal(int number);
  void kill();  ///< kill -9

 private:
  pid_t id_ = -1;
};

}  // namespace shoal::transport
