// SPDX-License-Identifier: Apache-2.0
// What the simulated disk has beside a real one: a clock, a size, faults, and power that goes.
#include "shoal/testing/simulated_disk.h"

#include <bit>
#include <set>

#include "fixture.h"
#include "shoal/base/random.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kSeeds = 60;

TEST(SimulatedDisk, TimesComeFromTheClock) {
  WallTime now{};
  SimulatedDisk disk({.clock = [&now] { return now; }, .folders = {"m"}});
  const auto modified = [&disk](const std::string& folder) { return (*disk.list(folder))[0].modified; };
  now += std::chrono::seconds(10);
  auto file = disk.create("m/a");
  ASSERT_OK(file);
  EXPECT_EQ(modified("m"), now);
  EXPECT_EQ(modified("/"), now);
  const WallTime created = now;
  now += std::chrono::seconds(10);
  ASSERT_OK((*file)->append(bytes_of("x")));
  EXPECT_EQ(modified("m"), created);  // The byte is not written yet.
  ASSERT_OK((*file)->close());
  EXPECT_EQ(modified("m"), now);
  EXPECT_EQ(modified("/"), created);  // The folder has the same names.
  const WallTime written = now;
  now += std::chrono::seconds(10);
  ASSERT_OK(disk.rename("m/a", "m/b"));
  EXPECT_EQ(modified("m"), written);
  EXPECT_EQ(modified("/"), now);
}

TEST(SimulatedDisk, AFullDiskWritesWhatFitsAndSaysSo) {
  SimulatedDisk disk({.capacity_bytes = 10});
  ASSERT_OK(write(disk, "a", "123456"));
  auto file = disk.create("b");
  ASSERT_OK(file);
  ASSERT_OK((*file)->append(bytes_of("789012")));
  const Error full = unavailable("cannot write b: No space left on device; free some space");
  EXPECT_FAILS((*file)->sync(), full);
  EXPECT_FAILS((*file)->append(bytes_of("x")), full);  // The error stays.
  EXPECT_FAILS((*file)->close(), full);
  EXPECT_EQ(text_of(disk, "b"), "7890");
  EXPECT_EQ(disk.used_bytes(), 10u);
  EXPECT_EQ(disk.fault_counts().full, 1);
  ASSERT_OK(disk.remove("a"));
  ASSERT_OK(write(disk, "b", "789012"));
  disk.set_capacity(100);
  ASSERT_OK(write(disk, "c", std::string(94, 'c')));
}

TEST(SimulatedDisk, UniqueNamesAreOfTheSeed) {
  SimulatedDisk one({.seed = 1}), same({.seed = 1}), other({.seed = 2});
  const std::string name = one.unique_name();
  EXPECT_EQ(name, same.unique_name());
  EXPECT_NE(name, other.unique_name());
  EXPECT_NE(name, one.unique_name());
}

/// What was left after `life` and a power loss, for each of many seeds.
template <class Life, class Left>
std::set<std::string> outcomes(Life life, Left left) {
  std::set<std::string> all;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SimulatedDisk disk({.folders = {"m"}});
    life(disk);
    disk.lose_power(seed);
    EXPECT_EQ(disk.fault_counts().power_lost, 1);
    all.insert(left(disk));
  }
  return all;
}
std::string names_in_m(SimulatedDisk& disk) {
  std::string names;
  for (const std::string& name : names_in(disk, "m")) names += name;
  return names;
}

TEST(PowerLoss, CutsWhatWasNotSynced) {
  const std::set<std::string> left = outcomes(
      [](SimulatedDisk& disk) {
        auto file = disk.create("m/a");
        ASSERT_OK((*file)->append(bytes_of("12")));
        ASSERT_OK((*file)->sync());
        ASSERT_OK(disk.sync_folder("m"));
        ASSERT_OK((*file)->append(bytes_of("34")));
        ASSERT_OK((*file)->close());
      },
      [](SimulatedDisk& disk) { return text_of(disk, "m/a"); });
  EXPECT_THAT(left, UnorderedElementsAre("12", "123", "1234"));
}

TEST(PowerLoss, ForgetsNamesThatWereNotSynced) {
  const std::set<std::string> left = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(write_synced(disk, "m/a", "1"));
        ASSERT_OK(disk.sync_folder("m"));
        ASSERT_OK(write_synced(disk, "m/b", "1"));
        ASSERT_OK(disk.rename("m/a", "m/c"));
      },
      names_in_m);
  EXPECT_THAT(left, UnorderedElementsAre("a", "ab", "c", "bc"));  // POSIX promises no order, so "c" may be alone.
}

TEST(PowerLoss, ForgetsASecondNameThatWasNotSynced) {
  const std::set<std::string> left = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(write_synced(disk, "m/a", "1"));
        ASSERT_OK(disk.sync_folder("m"));
        ASSERT_OK(disk.link("m/a", "m/b"));
        ASSERT_OK(disk.remove("m/a"));
      },
      names_in_m);
  EXPECT_THAT(left, UnorderedElementsAre("a", "ab", "b", ""));
}

TEST(SimulatedDisk, AFileOfTwoNamesTakesItsRoomOnce) {
  SimulatedDisk disk;
  ASSERT_OK(write(disk, "a", "12345"));
  ASSERT_OK(disk.link("a", "b"));
  EXPECT_EQ(disk.used_bytes(), 5u);
  ASSERT_OK(disk.remove("a"));
  EXPECT_EQ(disk.used_bytes(), 5u);
}

TEST(PowerLoss, ForgetsTheLatestChangesFirstWhereTheSeedIsOdd) {
  for (uint64_t seed = 1; seed <= kSeeds; seed += 2) {
    SimulatedDisk disk({.folders = {"m"}});
    for (const char* name : {"m/1", "m/2", "m/3", "m/4"}) ASSERT_OK(write_synced(disk, name, ""));
    disk.lose_power(seed);
    EXPECT_TRUE(std::string("1234").starts_with(names_in_m(disk))) << names_in_m(disk);
  }
}

TEST(PowerLoss, ANewFolderThatItsParentDoesNotKnowGoesWithAllInIt) {
  const auto life = [](SimulatedDisk& disk) {
    ASSERT_OK(disk.make_folders("m/new"));
    ASSERT_OK(disk.write_atomically("m/new/a", "1"));
  };
  const auto all = [](SimulatedDisk& disk) { return names_in_m(disk) + text_of(disk, "m/new/a"); };
  const std::string gone = "NotFound: cannot open m/new/a: No such file or directory";
  EXPECT_THAT(outcomes(life, all), UnorderedElementsAre(gone, "new/1"));
  const auto synced = [&life](SimulatedDisk& disk) {
    life(disk);
    ASSERT_OK(disk.sync_folder("m"));
  };
  EXPECT_THAT(outcomes(synced, all), UnorderedElementsAre("new/1"));
}

TEST(PowerLoss, ARenamedFolderHasOneOfItsNames) {
  const std::set<std::string> left = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(disk.make_folders("m/tmp"));
        ASSERT_OK(disk.write_atomically("m/tmp/a", "1"));
        ASSERT_OK(disk.sync_folder("m"));
        ASSERT_OK(disk.rename("m/tmp", "m/1"));
      },
      [](SimulatedDisk& disk) { return names_in_m(disk) + text_of(disk, "m/" + names_in_m(disk) + "a"); });
  EXPECT_THAT(left, UnorderedElementsAre("tmp/1", "1/1"));
}

TEST(PowerLoss, ARenameIsDurableOnceOneOfItsFoldersIs) {
  for (const char* folder : {"m/from", "m/to"}) {
    const std::set<std::string> left = outcomes(
        [folder](SimulatedDisk& disk) {
          ASSERT_OK(disk.make_folders("m/from"));
          ASSERT_OK(disk.make_folders("m/to"));
          ASSERT_OK(disk.sync_folder("m"));
          ASSERT_OK(write_synced(disk, "m/from/a", "1"));
          ASSERT_OK(disk.rename("m/from/a", "m/to/a"));
          ASSERT_OK(disk.sync_folder(folder));
        },
        [](SimulatedDisk& disk) { return disk.paths().size() == 1 ? disk.paths()[0] : "several"; });
    EXPECT_THAT(left, ElementsAre("m/to/a"));
  }
}

TEST(PowerLoss, LeavesTheOldOrTheNewOfAnAtomicWriteAndTheNewOnceItReturned) {
  const std::set<std::string> before = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(disk.write_atomically("m/a", "old"));
        ASSERT_OK(write_synced(disk, "m/a.tmp", "new"));
        ASSERT_OK(disk.rename("m/a.tmp", "m/a"));
      },
      [](SimulatedDisk& disk) { return text_of(disk, "m/a"); });
  EXPECT_THAT(before, UnorderedElementsAre("old", "new"));
  const std::set<std::string> after = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(disk.write_atomically("m/a", "old"));
        ASSERT_OK(disk.write_atomically("m/a", "new"));
      },
      [](SimulatedDisk& disk) { return names_in_m(disk) + text_of(disk, "m/a"); });
  EXPECT_THAT(after, UnorderedElementsAre("anew"));
}

TEST(PowerLoss, MayBringBackWhatACreateEmptied) {
  const std::set<std::string> left = outcomes(
      [](SimulatedDisk& disk) {
        ASSERT_OK(disk.write_atomically("m/a", "old"));
        ASSERT_OK(write(disk, "m/a", "n"));
      },
      [](SimulatedDisk& disk) { return text_of(disk, "m/a"); });
  EXPECT_THAT(left, UnorderedElementsAre("old", "", "n"));
}

TEST(PowerLoss, BytesOfAFailedSyncAreLostThoughTheNextOneSucceeds) {
  SimulatedDisk disk({.folders = {"m"}});
  auto file = disk.append("m/a");
  ASSERT_OK((*file)->append(bytes_of("12")));
  disk.arm(Fault::kError, 1);  // sync() writes, then syncs, which fails.
  EXPECT_FAILS((*file)->sync(), unavailable("cannot sync m/a: Input/output error (simulated fault)"));
  EXPECT_FAILS((*file)->sync(), unavailable("cannot sync m/a: Input/output error (simulated fault)"));
  EXPECT_EQ(text_of(disk, "m/a"), "12");  // The bytes are there as long as the power is.
  auto again = disk.append("m/a");
  ASSERT_OK((*again)->append(bytes_of("34")));
  ASSERT_OK((*again)->sync());
  ASSERT_OK(disk.sync_folder("m"));
  disk.lose_power(1);
  EXPECT_EQ(text_of(disk, "m/a"), std::string("\0\0", 2) + "34");
}

TEST(PowerLoss, FilesBeingWrittenFailAfterwards) {
  SimulatedDisk disk({.folders = {"m"}});
  auto file = disk.create("m/a");
  ASSERT_OK(disk.sync_folder("m"));
  disk.lose_power(1);
  ASSERT_OK((*file)->append(bytes_of("x")));
  EXPECT_FAILS((*file)->sync(), unavailable("cannot write m/a: Input/output error"));
  EXPECT_EQ(text_of(disk, "m/a"), "");
}

TEST(PowerLoss, LeavesATreeWhateverIsForgotten) {
  // Folders that move into each other: forgetting some of the moves must leave no circle and no folder in two places.
  constexpr const char* kNames[] = {"a", "b", "c"};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedDisk disk;
    RandomStream random(fold_in(seed, "moves"));
    const auto path = [&] {
      std::string all = kNames[random.below(3)];
      while (random.below(2) == 0) all += std::string("/") + kNames[random.below(3)];
      return all;
    };
    for (int life = 0; life < 3; ++life) {
      for (int move = 0; move < 40; ++move) {
        const std::string one = path(), two = path();
        static_cast<void>(random.below(2) == 0 ? disk.make_folders(one) : disk.rename(one, two));
        if (random.below(10) == 0) static_cast<void>(disk.sync_folder(one));
      }
      disk.lose_power(random.next_u64());
      ASSERT_OK(disk.remove_all("a"));
      ASSERT_OK(disk.remove_all("b"));
      ASSERT_OK(disk.remove_all("c"));
      EXPECT_THAT(names_in(disk, "/"), ElementsAre());
    }
  }
}

/// What a life of a hundred small files meets, a letter for each.
std::string life_with(SimulatedDisk& disk, DiskFaults faults) {
  disk.set_faults(std::move(faults));
  std::string met;
  for (int i = 0; i < 100; ++i) {
    const std::string path = "m/" + std::to_string(i);
    const std::string state = state_of(write(disk, path, "contents"));
    const bool full = state.find("No space left on device; free some space") != std::string::npos;
    EXPECT_TRUE(state == "ok" || full || state.find("Input/output error (simulated fault)") != std::string::npos) << state;
    EXPECT_TRUE(state == "ok" || state.starts_with("Unavailable: cannot ")) << state;
    met += full ? 'f' : state != "ok" ? 'e' : disk.contents(path) != "contents" ? 'b' : '.';
  }
  return met;
}

TEST(DiskFaults, AreNoneByDefault) {
  EXPECT_TRUE(DiskFaults().none());
  EXPECT_FALSE(DiskFaults{.slow = 0.1}.none());
  SimulatedDisk disk({.folders = {"m"}});
  EXPECT_TRUE(disk.faults().none());
  EXPECT_EQ(life_with(disk, {}), std::string(100, '.'));
  EXPECT_EQ(disk.fault_counts(), DiskFaultCounts());
  EXPECT_EQ(disk.take_delay(), Duration::zero());
}

TEST(DiskFaults, EqualSeedsMeetEqualFaults) {
  const DiskFaults faults{.seed = 7, .error = 0.05, .full = 0.1, .bit_flip = 0.1, .slow = 0.2};
  SimulatedDisk one({.folders = {"m"}}), same({.folders = {"m"}}), other({.folders = {"m"}});
  const std::string met = life_with(one, faults);
  EXPECT_EQ(life_with(same, faults), met);
  EXPECT_EQ(one.fault_counts(), same.fault_counts());
  EXPECT_EQ(one.take_delay(), same.take_delay());
  for (const char kind : {'e', 'f', 'b', '.'}) EXPECT_NE(met.find(kind), std::string::npos) << kind;
  DiskFaults reseeded = faults;
  reseeded.seed = 8;
  EXPECT_NE(life_with(other, reseeded), met);
}

TEST(DiskFaults, LeavingOneKindOutLeavesTheOthersWhereTheyWere) {
  SimulatedDisk all({.folders = {"m"}}), without({.folders = {"m"}});
  const std::string met = life_with(all, {.seed = 3, .full = 0.1, .bit_flip = 0.1, .slow = 0.1});
  std::string expected = life_with(without, {.seed = 3, .bit_flip = 0.1});
  EXPECT_NE(expected.find('b'), std::string::npos);
  for (size_t i = 0; i < met.size(); ++i) {
    if (met[i] == 'f') expected[i] = 'f';  // Nothing was written in which a bit could flip.
  }
  EXPECT_EQ(met, expected);
}

TEST(DiskFaults, AnErrorHasHadItsEffectEveryOtherTime) {
  SimulatedDisk disk({.folders = {"m"}});
  disk.set_faults({.error = 1});
  int had_effect = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string folder = "m/" + std::to_string(i);
    EXPECT_FAILS(disk.make_folders(folder),
                 unavailable("cannot make the folder " + folder + ": Input/output error (simulated fault)"));
    had_effect += disk.exists(folder);
  }
  EXPECT_THAT(had_effect, AllOf(Ge(30), Le(70)));
  EXPECT_EQ(disk.fault_counts().error, 100);
  EXPECT_FALSE(disk.list("m"));
  EXPECT_FALSE(disk.open("m/0"));
  disk.set_faults({});
  EXPECT_OK(disk.list("m"));
}

TEST(DiskFaults, ALockThatFailedIsNotHeld) {
  SimulatedDisk disk;
  disk.set_faults({.error = 1});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(disk.lock("lock", "me"));
  disk.set_faults({});
  EXPECT_OK(disk.lock("lock", "me"));
}

TEST(DiskFaults, AFullDiskIsFullForAWhile) {
  SimulatedDisk disk;
  disk.set_faults({.full = 1e-2, .full_writes_max = 50});
  int longest = 0, run = 0, free = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool full = !write(disk, "a", "x");
    run = full ? run + 1 : 0;
    free += !full;
    longest = std::max(longest, run);
  }
  EXPECT_THAT(longest, AllOf(Ge(20), Le(120)));  // Two such times follow each other now and then.
  EXPECT_GT(free, 1000);
  EXPECT_EQ(disk.fault_counts().full, 2000 - free);
}

TEST(DiskFaults, OneBitFlipsInWhatWasWritten) {
  SimulatedDisk disk({.folders = {"m"}});
  disk.set_faults({.bit_flip = 1, .flips_in = [](const std::string& path) { return path.starts_with("m/"); }});
  std::set<std::string> flipped;
  for (int i = 0; i < 50; ++i) {
    const std::string text(8, '\0');
    ASSERT_OK(write(disk, "spared", text));
    EXPECT_EQ(text_of(disk, "spared"), text);
    ASSERT_OK(write(disk, "m/a", text));
    const std::string found = text_of(disk, "m/a");
    int bits = 0;
    for (const char byte : found) bits += std::popcount(uint8_t(byte));
    EXPECT_EQ(found.size(), 8u);
    EXPECT_EQ(bits, 1);
    flipped.insert(found);
  }
  EXPECT_GT(flipped.size(), 20u);
  EXPECT_EQ(disk.fault_counts().bit_flip, 50);
  ASSERT_OK(disk.rename("m/a", "m/b"));
  EXPECT_THAT(disk.flipped(), ElementsAre("m/a"));
}

TEST(DiskFaults, SlowCallsTellHowLongTheyTook) {
  SimulatedDisk disk({.folders = {"m"}});
  disk.set_faults({.slow = 1, .slow_max = std::chrono::seconds(2)});
  ASSERT_OK(disk.list("m"));
  const Duration one = disk.take_delay();
  EXPECT_GT(one, Duration::zero());
  EXPECT_LE(one, std::chrono::seconds(2));
  EXPECT_EQ(disk.take_delay(), Duration::zero());
  for (int i = 0; i < 20; ++i) ASSERT_OK(disk.list("m"));
  EXPECT_GT(disk.take_delay(), std::chrono::seconds(4));
  EXPECT_EQ(disk.fault_counts().slow, 21);
}

TEST(ScriptedFaults, MeetTheCallTheyAreFor) {
  SimulatedDisk disk({.folders = {"m"}});
  disk.arm(Fault::kErrorAfterEffect, 1);
  ASSERT_OK(disk.make_folders("m/a"));
  EXPECT_FAILS(disk.make_folders("m/b"), unavailable("cannot make the folder m/b: Input/output error (simulated fault)"));
  ASSERT_OK(disk.make_folders("m/b"));  // The folder is there, so this is no changing call.
  EXPECT_EQ(disk.calls(), 2);
  disk.arm(Fault::kCrash, 0);
  EXPECT_FALSE(disk.make_folders("m/c/d"));  // It is half done.
  EXPECT_FALSE(disk.make_folders("m/e"));
  EXPECT_FALSE(disk.remove_all("m"));
  disk.disarm();
  EXPECT_THAT(names_in(disk, "m"), ElementsAre("a/", "b/", "c/"));
  EXPECT_THAT(names_in(disk, "m/c"), ElementsAre());
  EXPECT_EQ(disk.fault_counts().error, 1);
}

}  // namespace
}  // namespace shoal::testing
