// SPDX-License-Identifier: Apache-2.0
#include "launch/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "shoal/base/exhaustion.h"

namespace shoal::cli::launch {
namespace {

struct Note {
  char what = 0;  // '+': a process group was added, '-': a group is gone, 'q': the launcher ends normally.
  pid_t group = 0;
};

/// Sends or receives one Note, with or without a descriptor. The receiver gets its own descriptor of the same file.
class Envelope {
 public:
  explicit Envelope(Note& note) : part_{&note, sizeof note} {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
  }

  void send(int socket, int words) {
    if (words >= 0) {
      make_room();
      cmsghdr* const control = CMSG_FIRSTHDR(&message_);
      control->cmsg_level = SOL_SOCKET;
      control->cmsg_type = SCM_RIGHTS;
      control->cmsg_len = CMSG_LEN(sizeof words);
      std::memcpy(CMSG_DATA(control), &words, sizeof words);
    }
    ssize_t count = 0;
    do count = ::sendmsg(socket, &message_, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
  }

  /// Returns false if the other end is gone.
  bool receive(int socket, Descriptor& words) {
    make_room();
    ssize_t count = 0;
    do count = ::recvmsg(socket, &message_, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    const cmsghdr* const control = count > 0 ? CMSG_FIRSTHDR(&message_) : nullptr;
    if (control && control->cmsg_type == SCM_RIGHTS) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control), sizeof number);
      words = Descriptor(number);
    }
    return count == ssize_t(sizeof(Note));
  }

 private:
  void make_room() {
    message_.msg_control = room_;
    message_.msg_controllen = sizeof room_;
  }
  iovec part_;
  msghdr message_{};
  alignas(cmsghdr) char room_[CMSG_SPACE(sizeof(int))] = {};
};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) text.remove_prefix(size_t(count));
  }
}

/// The guard process, which ends the tasks of a launcher that has died. It is made by fork() without exec().
class GuardProcess {
 public:
  GuardProcess(int reader, std::string folder, Duration patience, std::vector<LastCommand> last_commands,
               const std::map<pid_t, int>& groups)
      : reader_(reader), folder_(std::move(folder)), patience_(patience), last_commands_(std::move(last_commands)) {
    for (const auto& [id, words] : groups) groups_.push_back({.id = id, .words = Descriptor(words)});
  }

  [[noreturn]] void run() {
    become_inconspicuous();
    if (!listen_to_launcher()) {
      end_groups();
      run_last_commands();
    }
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    ::_exit(0);
  }

 private:
  struct Group {
    pid_t id = 0;
    Descriptor words{};
    bool told = false;
    bool gone() const { return ::kill(-id, 0) != 0 && errno == ESRCH; }
    bool leaderless() const { return ::kill(id, 0) != 0 && errno == ESRCH; }
  };

  /// Shields this process from signals of a terminal. Closes the pipes and files that fork() has copied from the launcher:
  /// as long as they are open here, their readers would not see an end of file.
  void become_inconspicuous() {
    ::setsid();
    ::prctl(PR_SET_NAME, "shoal-guard");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    const int null = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) ::dup2(null, standard);
    std::set<unsigned> kept{unsigned(reader_)};
    for (const Group& group : groups_) {
      if (group.words) kept.insert(unsigned(group.words.number()));
    }
    unsigned next = 3;
    for (const unsigned descriptor : kept) {
      if (next < descriptor) ::syscall(SYS_close_range, next, descriptor - 1, 0U);
      next = descriptor + 1;
    }
    ::syscall(SYS_close_range, next, ~0U, 0U);
  }

  /// Receives the launcher's messages. Returns true if the launcher ends normally, false if it has died.
  bool listen_to_launcher() {
    for (;;) {
      Note note;
      Descriptor words;
      if (!Envelope(note).receive(reader_, words)) return false;
      if (note.what == 'q') return true;
      if (note.what == '+') groups_.push_back({.id = note.group, .words = std::move(words)});
      if (note.what == '-') std::erase_if(groups_, [&](const Group& group) { return group.id == note.group; });
    }
  }

  static constexpr int kLooksASecond = 10;

  void end_groups() {
    constexpr int kSecondsToDie = 4;
    const int patience = int(to_seconds(patience_) * kLooksASecond);
    for (int look = 0; look < patience + kSecondsToDie * kLooksASecond; ++look) {
      std::erase_if(groups_, [](const Group& group) { return group.gone(); });
      if (groups_.empty()) return;
      for (Group& group : groups_) {
        if (look >= patience) {
          ::kill(-group.id, SIGKILL);
        } else if (!group.told && group.words) {
          group.told = true;
          write_all(group.words.number(), "term\n");
          // If a group's main process still lives, the kernel has sent it a SIGTERM when the launcher died, so only groups
          // without one get a SIGTERM here.
        } else if (!group.told && group.leaderless()) {
          group.told = true;
          ::kill(-group.id, SIGTERM);
        }
      }
      pause();  // Polls: the tasks are not children of this process, so no SIGCHLD reports that they have ended.
    }
  }

  void run_last_commands() {
    constexpr int kSeconds = 10;
    std::vector<pid_t> running;
    for (const LastCommand& last : last_commands_) {
      auto input = make_pipe();
      if (!input) continue;
      const pid_t id = ::fork();
      if (id == 0) become(last, input->reader.number());
      input->reader.close();
      // last.input fits into the buffer of a pipe, so writing does not block.
      if (id > 0) write_all(input->writer.number(), last.input);
      if (id > 0) running.push_back(id);
    }
    for (int look = 0; look < kSeconds * kLooksASecond && !running.empty(); ++look) {
      std::erase_if(running, [](pid_t id) { return ::waitpid(id, nullptr, WNOHANG) != 0; });
      pause();
    }
    for (const pid_t id : running) ::kill(id, SIGKILL);
  }

  [[noreturn]] static void become(const LastCommand& last, int input) {
    std::vector<char*> words, variables;
    for (const std::string& word : last.command) words.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& variable : last.environment) variables.push_back(const_cast<char*>(variable.c_str()));
    words.push_back(nullptr);
    variables.push_back(nullptr);
    ::dup2(input, 0);
    ::execve(last.file.c_str(), words.data(), variables.data());
    ::_exit(127);
  }

  static void pause() {
    const timespec pause{0, 1'000'000'000 / kLooksASecond};
    ::nanosleep(&pause, nullptr);
  }

  int reader_;
  std::string folder_;
  Duration patience_;
  std::vector<LastCommand> last_commands_;
  std::vector<Group> groups_;
};

}  // namespace

Result<Guard> Guard::start(std::string folder, Duration patience, std::vector<LastCommand> last_commands) {
  Guard guard;
  guard.folder_ = std::move(folder);
  guard.patience_ = patience;
  guard.last_commands_ = std::move(last_commands);
  SHOAL_TRY_VOID(guard.begin());
  return guard;
}

Guard::Guard(Guard&& other) noexcept
    : folder_(std::move(other.folder_)),
      patience_(other.patience_),
      last_commands_(std::move(other.last_commands_)),
      groups_(std::move(other.groups_)),
      id_(std::exchange(other.id_, -1)),
      writer_(std::move(other.writer_)) {}

Guard::~Guard() {
  if (id_ < 0) return;
  tell('q', 0);
  writer_.close();
  ::waitpid(id_, nullptr, 0);
}

Result<void> Guard::begin() {
  // Connected sockets instead of a pipe, since only sockets can pass file descriptors. Each Note is sent as one message.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return unavailable("no socket can be made: " + system_error_text(errno));
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  id_ = ::fork();
  if (id_ == 0) {
    pipe.writer.close();
    // The new process gets a copy of groups_ by fork(), so it knows all groups even if the launcher is killed right now.
    GuardProcess(pipe.reader.number(), folder_, patience_, last_commands_, groups_).run();
  }
  if (id_ < 0) return unavailable("no process can be made: " + no_thread_text(errno));
  writer_ = std::move(pipe.writer);
  return {};
}

void Guard::add(pid_t group, int words) {
  groups_[group] = words;
  tell('+', group, words);
}

void Guard::remove(pid_t group) {
  groups_.erase(group);
  tell('-', group);
}

Result<void> Guard::look() {
  if (::waitpid(id_, nullptr, WNOHANG) != id_) return {};
  id_ = -1;
  return begin();
}

/// Tells the guard process that a process group was added or removed. If the guard process has just died, look() starts a
/// new one, which gets all groups.
void Guard::tell(char what, pid_t group, int words) {
  Note note{what, group};
  Envelope(note).send(writer_.number(), words);
}

}  // namespace shoal::cli::launch
