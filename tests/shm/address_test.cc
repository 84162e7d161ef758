// SPDX-License-Identifier: Apache-2.0
/// Tests of who can be met, and who not.
#include "meeting.h"
#include "raw_peer.h"

namespace shoal::transport {
namespace {

TEST_F(Shm, SaysWhatIsWrongWithAnAddress) {
  const Result<void> empty = listen("");
  expect_error(empty, ErrorKind::kInvalidArgument, "shm://name");
  const Result<void> longer = listen(std::string(81, 'x'));
  expect_error(longer, ErrorKind::kInvalidArgument, "80 characters");
  EXPECT_TRUE(listen(std::string(80, 'x')));
}

TEST_F(Shm, AnotherMachineIsOutOfReach) {
  for (const char* address : {"192.0.2.1:2222", "[2001:db8::1]:2222", "8.8.8.8:1"}) {
    const Result<void> listening = listen(address);
    expect_error(listening, ErrorKind::kFailedPrecondition, "another machine");
  }
}

TEST_F(Shm, MeetsByTheAddressesOfTfConfig) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "[::1]:0", "worker-0.train:0"}) {
    listener.reset();
    ASSERT_TRUE(listen(address)) << address;
    const auto receives = [&](Connection& link) -> Task<Done> {
      SHOAL_CO_TRY(const Message message, co_await link.receive(tasks.soon(server)));
      EXPECT_THAT(link.peer().address, HasSubstr("#" + std::to_string(::getpid())));
      co_return Done();
    };
    const auto sends = [&](Connection& link) -> Task<Done> {
      co_return co_await link.send(numbered(1), tasks.soon(client));
    };
    meet(receives, sends);
  }
}

TEST_F(Shm, ANameIsFreeWhenItsOwnerIsGone) {
  ASSERT_TRUE(listen("127.0.0.1:0"));
  const std::string address = listener->endpoint().address;
  const Result<void> again = listen(address);
  expect_error(again, ErrorKind::kUnavailable, address);
  listener.reset();
  EXPECT_TRUE(listen(address));
}

TEST_F(Shm, AListenerOfAnotherUserIsNoPeer) {
  if (!shm::AnotherUser::possible()) GTEST_SKIP() << "only root can be somebody else";
  const Endpoint address{"shm", "squatter:1"};
  const auto name = shm::socket_name(address);
  ASSERT_TRUE(name);
  const shm::File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  {
    const shm::AnotherUser other;
    ASSERT_EQ(::bind(socket.get(), name->get(), name->bytes), 0);
    ASSERT_EQ(::listen(socket.get(), 1), 0);
  }
  const auto call = [&]() -> Task<Done> {
    Result<Connected> link = co_await tasks.transport(client).connect(address, options, tasks.soon(client));
    expect_error(link, ErrorKind::kFailedPrecondition, "belongs to user 65534");
    co_return Done();
  };
  tasks.run_client(call());
}

TEST_F(Shm, VirtualTimeHasNoShm) {
  VirtualWorld world;
  Environment& env = world.add_task({.task = "t"});
  EXPECT_EQ(env.transport("shm").error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace shoal::transport
