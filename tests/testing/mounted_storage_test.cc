// SPDX-License-Identifier: Apache-2.0
// What a host sees of its own disk and of folders that it shares: routing, being cut off, seeing late.
#include "shoal/testing/mounted_storage.h"

#include "fixture.h"
#include "shoal/base/virtual.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two hosts with a disk each, and a folder that both see.
class MountedStorageTest : public ::testing::Test {
 protected:
  std::function<SteadyTime()> clock() {
    return [this] { return now; };
  }

  SteadyTime now{};
  std::shared_ptr<SimulatedDisk> local = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = 1});
  std::shared_ptr<SimulatedDisk> other_local = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = 2});
  std::shared_ptr<SimulatedDisk> shared = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = 3});
  MountedStorage host{local}, other{other_local};
  DiskConnection& host_link = host.mount("/shared", shared);
  DiskConnection& other_link = other.mount("/shared", shared);
};

TEST_F(MountedStorageTest, EachPathIsOnItsDisk) {
  ASSERT_OK(write(host, "/shared/a", "both"));
  ASSERT_OK(write(host, "/a", "one"));
  ASSERT_OK(write(host, "/shared-not", "one"));
  ASSERT_OK(write(host, "shared/./b", "both"));
  EXPECT_EQ(text_of(other, "/shared/a"), "both");
  EXPECT_EQ(text_of(other, "/shared/b"), "both");
  EXPECT_FALSE(other.exists("/a"));
  EXPECT_THAT(shared->paths(), ElementsAre("shared/a", "shared/b"));
  EXPECT_THAT(local->paths(), ElementsAre("a", "shared-not"));
  EXPECT_THAT(names_in(host, "/"), ElementsAre("a", "shared/", "shared-not"));
  EXPECT_EQ(&host.connection("/shared/a"), &host_link);
  EXPECT_EQ(&host.connection("/shared"), &host_link);
  EXPECT_NE(&host.connection("/a"), &host_link);
}

TEST_F(MountedStorageTest, AMountInsideOfAnotherHidesWhatIsThere) {
  const auto inner = std::make_shared<SimulatedDisk>();
  host.mount("/shared/inner", inner);
  ASSERT_OK(write(host, "/shared/inner/a", "x"));
  EXPECT_THAT(inner->paths(), ElementsAre("shared/inner/a"));
  EXPECT_THAT(names_in(host, "/shared"), ElementsAre("inner/"));
}

TEST_F(MountedStorageTest, NothingIsRenamedFromDiskToDisk) {
  ASSERT_OK(write(host, "/a", "x"));
  EXPECT_FAILS(host.rename("/a", "/shared/a"),
               failed_precondition("cannot rename /a to /shared/a: Invalid cross-device link"));
  ASSERT_OK(write(host, "/shared/b", "x"));
  EXPECT_FAILS(host.link("/a", "/shared/a"), failed_precondition("cannot link /a as /shared/a: Invalid cross-device link"));
  ASSERT_OK(host.rename("/shared/b", "/shared/c"));
  EXPECT_THAT(names_in(other, "/shared"), ElementsAre("c"));
}

TEST_F(MountedStorageTest, WhereADiskIsMountedTheFolderStays) {
  const std::string busy = ": Device or resource busy";
  EXPECT_FAILS(host.remove("/shared"), unavailable("cannot remove /shared" + busy));
  EXPECT_FAILS(host.remove_all("/shared/"), unavailable("cannot remove /shared/" + busy));
  EXPECT_FAILS(host.rename("/shared", "/b"), unavailable("cannot rename /shared to /b" + busy));
  ASSERT_OK(host.make_folders("/b"));
  EXPECT_FAILS(host.rename("/b", "/shared"), unavailable("cannot rename /b to /shared" + busy));
}

TEST_F(MountedStorageTest, HostsThatReplaceOneFileAtTheSameTimeWriteNoFileTogether) {
  for (MountedStorage* each : {&host, &other}) {  // Each fails before its rename and leaves a temporary file.
    shared->arm(Fault::kCrash, 1);
    EXPECT_FALSE(each->write_atomically("/shared/mark", "of one host"));
    shared->disarm();
  }
  const std::vector<std::string> names = names_in(host, "/shared");
  ASSERT_EQ(names.size(), 2u) << ::testing::PrintToString(names);
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("mark.tmp-")) << name;
}

TEST_F(MountedStorageTest, UniqueNamesAreTheHostsOwn) {
  const std::string name = host.unique_name();
  EXPECT_NE(name, other.unique_name());
  EXPECT_NE(name, host.unique_name());
}

TEST_F(MountedStorageTest, CutOffAllCallsFailAndOnlyHere) {
  ASSERT_OK(write(host, "/shared/a", "text"));
  auto reader = host.open("/shared/a");
  auto writer = host.append("/shared/a");
  ASSERT_OK((*writer)->append(bytes_of(" and more")));
  host_link.cut_off(true);
  EXPECT_TRUE(host_link.is_cut_off());
  const auto broken = [](const std::string& what) { return unavailable("cannot " + what + ": Input/output error"); };
  EXPECT_FAILS(host.open("/shared/a"), broken("open /shared/a"));
  EXPECT_FAILS(host.create("/shared/b"), broken("create /shared/b"));
  EXPECT_FAILS(host.append("/shared/a"), broken("create /shared/a"));
  EXPECT_FAILS(host.rename("/shared/a", "/shared/b"), broken("rename /shared/a to /shared/b"));
  EXPECT_FAILS(host.remove("/shared/a"), broken("remove /shared/a"));
  EXPECT_FAILS(host.remove_all("/shared/none"), broken("remove /shared/none"));
  EXPECT_FAILS(host.make_folders("/shared/c"), broken("make the folder /shared/c"));
  EXPECT_FAILS(host.sync_folder("/shared"), broken("sync the folder /shared"));
  EXPECT_FAILS(host.list("/shared"), broken("list /shared"));
  EXPECT_FAILS(host.lock("/shared/lock", "me"), broken("lock /shared/lock"));
  EXPECT_FAILS(host.make_temporary_folder("/shared/t"), broken("make a temporary folder /shared/tXXXXXX"));
  EXPECT_FALSE(host.exists("/shared/a"));
  std::string text(4, ' ');
  EXPECT_FAILS((*reader)->read_at(0, std::as_writable_bytes(std::span(text))), broken("read /shared/a"));
  EXPECT_FAILS((*writer)->flush(), broken("write /shared/a"));
  EXPECT_EQ(shared->fault_counts().cut_off, 13);
  EXPECT_OK(write(host, "/a", "x"));  // Its own disk is there.
  EXPECT_EQ(text_of(other, "/shared/a"), "text");

  host_link.cut_off(false);
  EXPECT_OK((*reader)->read_at(0, std::as_writable_bytes(std::span(text))));
  EXPECT_FAILS((*writer)->flush(), broken("write /shared/a"));  // A failed file stays failed.
  EXPECT_EQ(text_of(host, "/shared/a"), "text");
}

TEST_F(MountedStorageTest, AHostThatIsCutOffKeepsItsLocksUntilTheirTaskDies) {
  VirtualWorld world;
  Environment& task = world.add_task({.storage = std::shared_ptr<Storage>(&host, [](Storage*) {})});
  auto lock = task.storage().lock("/shared/lock", "chief of host 1");
  ASSERT_OK(lock);
  host_link.cut_off(true);
  EXPECT_FAILS(other.lock("/shared/lock", "me"), unavailable("/shared/lock is held by chief of host 1"));
  world.kill(task);
  EXPECT_OK(other.lock("/shared/lock", "me"));
}

TEST_F(MountedStorageTest, SlowCallsAreThoseOfTheHostThatMadeThem) {
  shared->set_faults({.slow = 1});
  ASSERT_OK(host.list("/shared"));
  ASSERT_OK(host.list("/"));
  EXPECT_EQ(other.take_delay(), Duration::zero());
  EXPECT_EQ(shared->take_delay(), Duration::zero());
  EXPECT_GT(host.take_delay(), Duration::zero());
  EXPECT_EQ(host.take_delay(), Duration::zero());
  local->set_faults({.slow = 1});
  ASSERT_OK(host.list("/"));
  EXPECT_GT(host.take_delay(), Duration::zero());
}

TEST_F(MountedStorageTest, SlowCallsTakeVirtualTime) {
  shared->set_faults({.slow = 1, .slow_max = 2s});
  VirtualWorld world;
  Environment& env = world.add_task({.storage = std::shared_ptr<Storage>(&host, [](Storage*) {}),
                                     .before_storage_call = [this] { return host.take_delay(); }});
  bool written = false;
  const auto body = [](Environment& of, bool& out) -> Task<Result<void>> {
    Work work = [&of, &out] { out = of.storage().write_atomically("/shared/a", "text").has_value(); };
    co_return co_await of.offload(std::move(work));
  };
  ASSERT_OK(env.run(body(env, written)));
  EXPECT_TRUE(written);
  EXPECT_GT(world.now(), SteadyTime(1s));
  EXPECT_LT(world.now(), SteadyTime(12s));  // Six calls take at most two seconds each.
}

TEST_F(MountedStorageTest, LateHostsSeeNewNamesAfterTheDelay) {
  other_link.see_late(30s, clock());
  EXPECT_THAT(names_in(other, "/shared"), IsEmpty());
  ASSERT_OK(host.make_folders("/shared/m/sub"));
  ASSERT_OK(write(host, "/shared/a", "x"));
  now += 29s;
  EXPECT_THAT(names_in(other, "/shared"), IsEmpty());
  EXPECT_FALSE(other.exists("/shared/a"));
  EXPECT_FALSE(other.exists("/shared/m/sub"));
  EXPECT_FAILS(other.open("/shared/a"), not_found("cannot open /shared/a: No such file or directory"));
  EXPECT_FAILS(other.list("/shared/m"), not_found("cannot list /shared/m: No such file or directory"));
  EXPECT_THAT(names_in(host, "/shared"), ElementsAre("a", "m/"));
  now += 1s;
  EXPECT_THAT(names_in(other, "/shared"), ElementsAre("a", "m/"));
  EXPECT_EQ(text_of(other, "/shared/a"), "x");
  EXPECT_TRUE(other.exists("/shared/m/sub"));
}

TEST_F(MountedStorageTest, LateHostsReadWhatWasThere) {
  ASSERT_OK(write(host, "/shared/pointer", "first"));
  ASSERT_OK(write(host, "/shared/grows", "12"));
  ASSERT_OK(write(host, "/shared/gone", "x"));
  other_link.see_late(30s, clock());
  EXPECT_EQ(text_of(other, "/shared/pointer"), "first");
  ASSERT_OK(host.write_atomically("/shared/pointer", "second"));
  auto grows = host.append("/shared/grows");
  ASSERT_OK((*grows)->append(bytes_of("34")));
  ASSERT_OK((*grows)->close());
  ASSERT_OK(host.remove("/shared/gone"));
  now += 10s;
  EXPECT_EQ(text_of(other, "/shared/pointer"), "first");
  EXPECT_EQ(text_of(other, "/shared/grows"), "12");
  EXPECT_EQ((*other.list("/shared"))[1].size_bytes, 2u);
  EXPECT_TRUE(other.exists("/shared/gone"));
  EXPECT_EQ(text_of(other, "/shared/gone"), "NotFound: cannot open /shared/gone: No such file or directory");
  now += 20s;
  EXPECT_EQ(text_of(other, "/shared/pointer"), "second");
  EXPECT_EQ(text_of(other, "/shared/grows"), "1234");
  EXPECT_FALSE(other.exists("/shared/gone"));
}

TEST_F(MountedStorageTest, LateHostsSeeTheirOwnChangesAtOnce) {
  other_link.see_late(30s, clock());
  EXPECT_THAT(names_in(other, "/shared"), IsEmpty());
  ASSERT_OK(other.make_folders("/shared/m/deep"));
  EXPECT_TRUE(other.exists("/shared/m/deep"));
  ASSERT_OK(write(other, "/shared/m/a", "1"));
  EXPECT_EQ(text_of(other, "/shared/m/a"), "1");
  auto file = other.append("/shared/m/a");
  ASSERT_OK((*file)->append(bytes_of("2")));
  ASSERT_OK((*file)->flush());
  EXPECT_EQ(text_of(other, "/shared/m/a"), "12");
  ASSERT_OK(other.rename("/shared/m/a", "/shared/b"));
  EXPECT_FALSE(other.exists("/shared/m/a"));
  EXPECT_EQ(text_of(other, "/shared/b"), "12");
  ASSERT_OK(other.remove("/shared/b"));
  EXPECT_FALSE(other.exists("/shared/b"));
  ASSERT_OK(other.remove_all("/shared/m"));
  EXPECT_THAT(names_in(other, "/shared"), IsEmpty());
}

TEST_F(MountedStorageTest, SeeingLateEnds) {
  other_link.see_late(30s, clock());
  EXPECT_FALSE(other.exists("/shared/a"));
  ASSERT_OK(write(host, "/shared/a", "x"));
  EXPECT_FALSE(other.exists("/shared/a"));
  other_link.see_late(0s, {});
  EXPECT_TRUE(other.exists("/shared/a"));
}

}  // namespace
}  // namespace shoal::testing
