// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Protects the descriptors 0, 1 and 2 in a process that was started without some of them, or has closed them.

namespace shoal {

/// While an object of this class lives, no file or socket that is opened becomes the standard input, output or error.
/// If 0, 1 or 2 is closed, the first object opens a descriptor with this number that can neither be read nor written, so
/// that reads and writes still fail. Otherwise a lock file, an event file or a connection might get such a number and
/// receive what the program prints. The last object frees the numbers again. Thread-safe; each production environment has
/// one object.
class StandardDescriptors {
 public:
  StandardDescriptors();
  ~StandardDescriptors();
  StandardDescriptors(const StandardDescriptors&) = delete;
  StandardDescriptors& operator=(const StandardDescriptors&) = delete;
};

}  // namespace shoal
