// SPDX-License-Identifier: Apache-2.0
// The limits of control groups, from files as the kernel writes them.
#include "cgroup.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace shoal {
namespace {

struct Machine {
  TemporaryFolder folder;
  void groups(const std::string& text) const { folder.write("proc/self/cgroup", text); }
  void file(const std::string& name, const std::string& text) const { folder.write("sys/fs/cgroup/" + name, text); }
  CgroupLimits limits() const { return read_cgroup_limits(folder.path()); }
};

TEST(Cgroup, NoGroupsNoLimits) {
  const Machine machine;
  EXPECT_FALSE(machine.limits().cores);
  EXPECT_FALSE(machine.limits().memory_bytes);
}

TEST(Cgroup, Version2) {
  const Machine machine;
  machine.groups("0::/job/task\n");
  machine.file("job/task/cpu.max", "50000 100000\n");
  machine.file("job/task/memory.max", "max\n");
  EXPECT_EQ(machine.limits().cores, 0.5);
  EXPECT_FALSE(machine.limits().memory_bytes);
  machine.file("job/memory.max", "2097152\n");  // This is the limit of the group above.
  machine.file("job/cpu.max", "max 100000\n");
  EXPECT_EQ(machine.limits().memory_bytes, uint64_t(2) << 20);
  EXPECT_EQ(machine.limits().cores, 0.5);
  machine.file("job/cpu.max", "25000 100000\n");
  EXPECT_EQ(machine.limits().cores, 0.25);
}

TEST(Cgroup, InAContainerTheFilesLieAtTheRoot) {
  const Machine machine;
  machine.groups("0::/kubepods/pod-1/c\n");
  machine.file("cpu.max", "150000 100000\n");
  machine.file("memory.max", "1048576\n");
  EXPECT_EQ(machine.limits().cores, 1.5);
  EXPECT_EQ(machine.limits().memory_bytes, uint64_t(1) << 20);
}

TEST(Cgroup, Version1) {
  const Machine machine;
  machine.groups("9:name=systemd:/\n5:devices:/x\n4:memory:/m\n3:cpuset:/c\n2:cpu,cpuacct:/p\n0::/\n");
  machine.file("memory/m/memory.limit_in_bytes", "4194304\n");
  machine.file("memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.file("cpu/p/cpu.cfs_quota_us", "-1\n");
  machine.file("cpu/p/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(machine.limits().memory_bytes, uint64_t(4) << 20);
  EXPECT_FALSE(machine.limits().cores);
  machine.file("cpu/p/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(machine.limits().cores, 2.0);
}

TEST(Cgroup, WhatSaysSomethingElseLimitsNothing) {
  const Machine machine;
  machine.groups("nonsense\n0::/g\n");
  for (const char* const text :
       {"", "\n", "much 100000", "50000", "50000 0", "0 100000", "1e5 100000", "99999999999999999999 1"}) {
    machine.file("g/cpu.max", text);
    machine.file("g/memory.max", "-5");
    EXPECT_FALSE(machine.limits().cores) << text;
    EXPECT_FALSE(machine.limits().memory_bytes) << text;
  }
}

}  // namespace
}  // namespace shoal
