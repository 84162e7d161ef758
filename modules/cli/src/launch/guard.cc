#include "launch/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace shoal::cli::launch {
namespace {

struct Note {
  char what = 0;  // '+' a group, '-' it is gone, 'q' farewell.
  pid_t group = 0;
};

/// The guard's own process. It was made by fork() and stays this program.
class GuardProcess {
 public:
  GuardProcess(int reader, std::string folder, Duration patience)
      : reader_(reader), folder_(std::move(folder)), patience_(patience) {}

  [[noreturn]] void run() {
    become_inconspicuous();
    if (!listen_to_launcher()) end_groups();
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    ::_exit(0);
  }

 private:
  struct Group {
    pid_t id = 0;
    bool told = false;
    bool gone() const { return ::kill(-id, 0) != 0 && errno == ESRCH; }
    bool leaderless() const { return ::kill(id, 0) != 0 && errno == ESRCH; }
  };

  /// Signals of a terminal do not reach it, and no pipe or file stays open because of it.
  void become_inconspicuous() {
    ::setsid();
    ::prctl(PR_SET_NAME, "shoal-guard");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    const int null = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) ::dup2(null, standard);
    ::dup2(reader_, 3);
    reader_ = 3;
    ::syscall(SYS_close_range, 4U, ~0U, 0U);
  }

  /// True for a farewell, false for a launcher that died.
  bool listen_to_launcher() {
    for (;;) {
      Note note;
      const ssize_t count = ::read(reader_, &note, sizeof note);
      if (count < 0 && errno == EINTR) continue;
      if (count != sizeof note) return false;
      if (note.what == 'q') return true;
      if (note.what == '+') groups_.push_back({note.group});
      if (note.what == '-') std::erase_if(groups_, [&](const Group& group) { return group.id == note.group; });
    }
  }

  void end_groups() {
    constexpr int kLooksASecond = 10, kSecondsToDie = 4;
    const int patience = int(to_seconds(patience_) * kLooksASecond);
    for (int look = 0; look < patience + kSecondsToDie * kLooksASecond; ++look) {
      std::erase_if(groups_, [](const Group& group) { return group.gone(); });
      if (groups_.empty()) return;
      for (Group& group : groups_) {
        if (look >= patience) {
          ::kill(-group.id, SIGKILL);
        } else if (!group.told && group.leaderless()) {  // A second one would end at once who got the kernel's.
          group.told = true;
          ::kill(-group.id, SIGTERM);
        }
      }
      const timespec pause{0, 1'000'000'000 / kLooksASecond};  // Nobody tells of ends of processes that are not its own.
      ::nanosleep(&pause, nullptr);
    }
  }

  int reader_;
  std::string folder_;
  Duration patience_;
  std::vector<Group> groups_;
};

}  // namespace

Result<Guard> Guard::start(std::string folder, Duration patience) {
  Guard guard;
  guard.folder_ = std::move(folder);
  guard.patience_ = patience;
  SHOAL_TRY_VOID(guard.begin());
  return guard;
}

Guard::Guard(Guard&& other) noexcept
    : folder_(std::move(other.folder_)),
      patience_(other.patience_),
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
  SHOAL_TRY(Pipe pipe, make_pipe());
  GuardProcess process(pipe.reader.number(), folder_, patience_);
  id_ = ::fork();
  if (id_ == 0) {
    pipe.writer.close();
    process.run();
  }
  if (id_ < 0) return unavailable("no process can be made: " + std::string(std::strerror(errno)));
  writer_ = std::move(pipe.writer);
  for (const pid_t group : groups_) tell('+', group);
  return {};
}

void Guard::add(pid_t group) {
  groups_.insert(group);
  tell('+', group);
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

/// A guard that has just died is replaced by look(), and learns then of all groups.
void Guard::tell(char what, pid_t group) {
  const Note note{what, group};
  static_cast<void>(!::write(writer_.number(), &note, sizeof note));
}

}  // namespace shoal::cli::launch
