// SPDX-License-Identifier: Apache-2.0
// Cores and their hyper-threads, from files as the kernel writes them.
#include "topology.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

namespace shoal {
namespace {

struct Machine {
  TemporaryFolder folder;
  void processor(int number, const std::string& siblings, const std::string& file = "core_cpus_list") const {
    folder.write("sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/" + file, siblings + "\n");
  }
  int cores(const std::vector<int>& usable) const { return count_cores(usable, folder.path()); }
};

TEST(Topology, HyperThreadsOfOneCoreCountOnce) {
  const Machine machine;  // Most servers number them so: the second hyper-threads after all first ones.
  for (int core = 0; core < 4; ++core) {
    const std::string siblings = std::to_string(core) + "," + std::to_string(core + 4);
    machine.processor(core, siblings);
    machine.processor(core + 4, siblings);
  }
  EXPECT_EQ(machine.cores({0, 1, 2, 3, 4, 5, 6, 7}), 4);
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 4);
  EXPECT_EQ(machine.cores({1, 5}), 1);
  EXPECT_EQ(machine.cores({5}), 1);
  EXPECT_EQ(machine.cores({6, 7, 2, 0}), 3);
}

TEST(Topology, NeighboursAsARange) {
  const Machine machine;
  for (int number = 0; number < 4; ++number) machine.processor(number, number < 2 ? "0-1" : "2-3");
  EXPECT_EQ(machine.cores({0, 1, 2, 3}), 2);
  EXPECT_EQ(machine.cores({1, 2}), 2);
}

TEST(Topology, FourThreadsOfACoreInTwoRanges) {
  const Machine machine;
  for (const int number : {0, 1, 8, 9}) machine.processor(number, "0-1,8-9");
  EXPECT_EQ(machine.cores({0, 1, 8, 9}), 1);
}

TEST(Topology, CoresOfTwoKinds) {
  const Machine machine;  // Two cores have two hyper-threads each, and two have one.
  for (int number = 0; number < 4; ++number) machine.processor(number, number < 2 ? "0-1" : "2-3");
  machine.processor(4, "4");
  machine.processor(5, "5");
  EXPECT_EQ(machine.cores({0, 1, 2, 3, 4, 5}), 4);
}

TEST(Topology, BeforeLinux53TheFileHasAnotherName) {
  const Machine machine;
  machine.processor(0, "0-1", "thread_siblings_list");
  machine.processor(1, "0-1", "thread_siblings_list");
  EXPECT_EQ(machine.cores({0, 1}), 1);
}

TEST(Topology, WithoutFilesEachIsACore) {
  const Machine machine;
  EXPECT_EQ(machine.cores({0, 1, 2}), 3);
  EXPECT_EQ(machine.cores({}), 0);
}

TEST(Topology, NonsenseIsACoreOfItsOwn) {
  for (const char* text : {"", "max", "0-", "-1", "1-0", "0,", "0;1", "99999999999", "2-3"}) {
    SCOPED_TRACE(text);
    const Machine machine;
    machine.processor(0, text);
    machine.processor(1, text);
    EXPECT_EQ(machine.cores({0, 1}), 2);
  }
}

}  // namespace
}  // namespace shoal
