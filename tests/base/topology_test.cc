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
  void capacity(int number, const std::string& text) const {
    folder.write("sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpu_capacity", text + "\n");
  }
  void cooling_device(int number, const std::string& type, const std::string& state) const {
    const std::string path = "sys/class/thermal/cooling_device" + std::to_string(number) + "/";
    folder.write(path + "type", type + "\n");
    folder.write(path + "cur_state", state + "\n");
  }
  std::vector<int> fast(const std::vector<int>& usable) const { return fast_processors(usable, folder.path()); }
  bool is_hot() const { return is_slowed_by_heat(folder.path()); }
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

TEST(Topology, SlowCoresAreLeftOut) {
  const Machine machine;  // These are the capacities of a board with four Cortex-A53 and two Cortex-A72.
  for (int number = 0; number < 4; ++number) machine.capacity(number, "485");
  for (int number = 4; number < 6; ++number) machine.capacity(number, "1024");
  EXPECT_EQ(machine.fast({0, 1, 2, 3, 4, 5}), (std::vector{4, 5}));
  EXPECT_EQ(machine.fast({0, 1, 2}), (std::vector{0, 1, 2}));  // Among these none is slow.
  EXPECT_EQ(machine.fast({0, 5}), (std::vector{5}));
  for (int number = 0; number < 4; ++number) machine.capacity(number, "512");
  EXPECT_EQ(machine.fast({0, 4}), (std::vector{0, 4}));
}

TEST(Topology, WithoutCapacitiesNoCoreIsSlow) {
  const Machine machine;
  EXPECT_EQ(machine.fast({0, 1}), (std::vector{0, 1}));
  EXPECT_EQ(machine.fast({}), std::vector<int>{});
  machine.capacity(0, "1024");
  EXPECT_EQ(machine.fast({0, 1}), (std::vector{0, 1}));
  for (const char* text : {"", "0", "-5", "slow", "1e3", "99999999999"}) {
    machine.capacity(1, text);
    EXPECT_EQ(machine.fast({0, 1}), (std::vector{0, 1})) << text;
  }
  machine.capacity(1, "100");
  EXPECT_EQ(machine.fast({0, 1}), (std::vector{0}));
}

TEST(Topology, HeatIsToldByCoolingDevicesOfProcessors) {
  const Machine machine;
  EXPECT_FALSE(machine.is_hot());
  machine.cooling_device(0, "pwm-fan", "3");
  machine.cooling_device(1, "thermal-cpufreq-0", "0");
  EXPECT_FALSE(machine.is_hot());
  machine.cooling_device(2, "thermal-cpufreq-1", "2");
  EXPECT_TRUE(machine.is_hot());
  machine.cooling_device(2, "Processor", "hot");
  EXPECT_FALSE(machine.is_hot());
}

}  // namespace
}  // namespace shoal
