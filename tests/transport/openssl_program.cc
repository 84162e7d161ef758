#include "openssl_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

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

}  // namespace shoal::transport
