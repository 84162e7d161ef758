#pragma once
/// Descriptors 0, 1 and 2 in a process that was started without some of them, or has closed them.

namespace shoal {

/// While one lives, no file or socket that this process opens becomes its standard input, output or error: a number of
/// these that is closed is taken by a descriptor which can neither be read nor written, so that reads and writes fail as
/// before. Else a lock file, an event file or a connection would get the number, and what the program prints would go there. The
/// numbers are closed again with the last of them. Thread-safe; each production environment has one.
class StandardDescriptors {
 public:
  StandardDescriptors();
  ~StandardDescriptors();
  StandardDescriptors(const StandardDescriptors&) = delete;
  StandardDescriptors& operator=(const StandardDescriptors&) = delete;
};

}  // namespace shoal
