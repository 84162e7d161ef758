// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state that all connections of one simulated disk share: the file tree, and the faults that make calls fail.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "file_tree.h"
#include "late_view.h"
#include "shoal/base/result.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::testing {

/// The state of one connection and of files opened through it.
struct DiskLink {
  bool cut_off = false;
  Duration delay{};
  std::optional<LateView> late;
};

/// One call on the disk: its kind, and the words by which error sentences name it.
struct DiskCall {
  enum class Kind { kRead, kChange, kWrite };
  Kind kind;
  std::string verb;
  const std::string& path;
};

struct DiskState {
  explicit DiskState(SimulatedDiskOptions disk_options);

  /// What a call does to the disk; perform() runs it unless a fault prevents it. Returns 0 or an errno. `half` is true if
  /// the process dies in this call; a write then writes only a part of its bytes.
  using Effect = std::function<int(bool half)>;
  Result<void> perform(DiskLink& link, const DiskCall& call, const Effect& effect);
  /// Writes as many of `bytes` at `offset` as there is room for.
  Result<void> write(DiskLink& link, const std::string& path, FileNode& file, size_t offset, std::string_view bytes);
  void add_folder(const std::string& path);
  WallTime now() const { return options.clock ? options.clock() : WallTime(); }

  SimulatedDiskOptions options;
  FileTree tree;
  DiskFaultCounts counts;
  std::set<std::string> flipped;  // The files in which a bit was flipped, by their names at that time.
  uint64_t next_name = 0;
  int64_t calls = 0;

  Fault fault = Fault::kNone;
  int64_t fault_call = 0;

  void set_faults(DiskFaults drawn);
  DiskFaults faults;

 private:
  Fault scripted(const DiskCall& call, bool& half);
  Fault drawn(const DiskCall& call);
  void draw_delay(DiskLink& link);
  bool draw_full();
  std::optional<uint64_t> draw_flip(size_t bytes);  ///< Returns which bit of `bytes` bytes to flip, or nothing.

  RandomStream errors_, fulls_, flips_, delays_;
  int64_t full_writes_left_ = 0;
};

}  // namespace shoal::testing
