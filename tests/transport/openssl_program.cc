// SPDX-License-Identifier: Apache-2.0
#include "openssl_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

extern char** environ;

namespace shoal::transport {

OpenSsl::OpenSsl(std::vector<std::string> words) {
  words.insert(words.begin(), "openssl");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int in[2], out[2];
  EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
  if (::posix_spawnp(&id_, "openssl", &actions, nullptr, arguments.data(), environ) != 0) id_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

OpenSsl::~OpenSsl() {
  end_input();
  if (id_ > 0) ::kill(id_, SIGKILL);
  if (id_ > 0) ::waitpid(id_, nullptr, 0);
  ::close(out_);
}

void OpenSsl::write(const Bytes& bytes) { EXPECT_EQ(::write(in_, bytes.data(), bytes.size()), ssize_t(bytes.size())); }

void OpenSsl::end_input() {
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

const std::string& OpenSsl::read_until(const std::string& mark) {
  pollfd readable{out_, POLLIN, 0};
  std::array<char, 4096> bytes;
  while (printed_.find(mark) == std::string::npos && ::poll(&readable, 1, 20000) == 1) {
    const ssize_t count = ::read(out_, bytes.data(), bytes.size());
    if (count <= 0) break;
    printed_.append(bytes.data(), size_t(count));
  }
  return printed_;
}

std::string openssl_program_missing() {
  OpenSsl version({"version"});
  const std::string& printed = version.read_until("\n");
  if (printed.find("OpenSSL 3") != std::string::npos) return {};
  return "there is no openssl program of version 3: " + printed;
}

Guest guest_of(Environment& server, Listener& listener, const std::function<void()>& meet) {
  constexpr auto kMeetingMax = std::chrono::seconds(60);
  Guest guest;
  const auto over = std::make_shared<Event>(server);
  std::atomic<bool> done = false;
  const auto serve = [&]() -> Task<Result<void>> {
    Result<std::unique_ptr<Connection>> link = cancelled();
    while (!link && !done) link = co_await listener.accept(server.after(std::chrono::milliseconds(5)));
    guest.there = bool(link);
    if (link) guest.who = (*link)->identity();
    while (!done) SHOAL_CO_TRY_VOID(co_await over->wait("the end of the meeting", server.after(kMeetingMax)));
    co_return Result<void>();
  };
  std::thread other([&] { EXPECT_TRUE(server.run(serve())); });
  meet();
  done = true;
  server.post([over = std::weak_ptr(over)] {  // It may be run when the meeting is long over.
    if (const auto event = over.lock()) event->notify_all();
  });
  other.join();
  return guest;
}

}  // namespace shoal::transport
