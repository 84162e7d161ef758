// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Descriptors 0, 1 and 2 in a process that was started without some of them, or has closed them.

namespace shoal {

/// While an object of this class lives, no file or socket that this process opens becomes its standard input, output or error.
/// The first object takes those of the numbers 0, 1 and 2 that are closed, with descriptors that can neither be read nor
/// written, so that reads and writes fail as before. Otherwise a lock file, an event file or a connection would get such a
/// number, and would receive what the program prints. The last object closes the numbers again. Thread-safe; each production
/// environment has one.
class StandardDescriptors {
 public:
  StandardDescriptors();
  ~StandardDescriptors();
  StandardDescriptors(const StandardDescriptors&) = delete;
  StandardDescriptors& operator=(const StandardDescriptors&) = delete;
};

}  // namespace shoal
