// SPDX-License-Identifier: Apache-2.0
#include "launch/child_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "shoal/base/exhaustion.h"
#include "shoal/base/kernel_file.h"
#include "shoal/base/missing_path.h"
#include "shoal/base/storage.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {
namespace {

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// True for a name that a shell can give to a variable.
bool is_variable(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c) != 0); });
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void set_open_files(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(count, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// The steps of the new process before it becomes the program. They may only call functions that a signal handler may call.
struct Beginning {
  const char* file = nullptr;
  char* const* command = nullptr;
  char* const* environment = nullptr;
  int input = -1, output = -1, errors = -1, failure = -1;
  pid_t parent = -1;
  bool told_of_parents_death = true;
  std::optional<rlim_t> files{};
  int kept = -1;

  [[noreturn]] void run() const {
    ::setpgid(0, 0);
    if (told_of_parents_death) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);  // The parent died before prctl() was called.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaction(signal, &standard, nullptr);
    // As under systemd, SIGPIPE is ignored: a task that writes a line after its launcher died must still save its work.
    ::signal(SIGPIPE, SIG_IGN);
    if (files) set_open_files(*files);
    if (kept >= 0) ::fcntl(kept, F_SETFD, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::dup2(input, 0) >= 0 && ::dup2(output, 1) >= 0 && ::dup2(errors, 2) >= 0) ::execve(file, command, environment);
    const int error = errno;
    static_cast<void>(!::write(failure, &error, sizeof error));
    ::_exit(127);
  }
};

/// Returns the error that kept the program from starting; 0 for none. Waits for the start, which takes almost no time.
int failure_from(int reader) {
  int error = 0;
  ssize_t count = 0;
  do count = ::read(reader, &error, sizeof error);
  while (count < 0 && errno == EINTR);
  return count == sizeof error ? error : 0;
}

/// True if another attempt to run a program would fail for the same reason. False, for example, if the file is being
/// written just now, its disk is away, or memory is short.
bool stays(int error) {
  constexpr int kStay[] = {ENOENT, EACCES, EPERM, ENOEXEC, ENOTDIR, EISDIR, E2BIG, ELOOP, ENAMETOOLONG, EINVAL};
  return std::find(std::begin(kStay), std::end(kStay), error) != std::end(kStay);
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
    if (::access(name.c_str(), F_OK) != 0) return not_found(name + ": there is no such program");
    return failed_precondition(name + ": is no program that may be run; is it executable (chmod +x)?");
  }
  const std::string path = cluster::process_getenv("PATH").value_or("/usr/bin:/bin");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string file = join_path(folder.empty() ? "." : folder, name);
    if (!name.empty() && is_program(file)) return file;
    begin = end + 1;
  }
  return not_found("\"" + name + "\": there is no such program in the folders of PATH" +
                   (is_program("./" + name) ? "; for the one in this folder write ./" + name : ""));
}

Result<std::string> current_folder() {
  std::string path(4096, '\0');
  if (!::getcwd(path.data(), path.size())) return machine_path_error("find the working folder", ".", errno);
  path.resize(std::strlen(path.c_str()));
  return path;
}

std::vector<std::string> environment_with(std::span<const Variable> variables) {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(variables.begin(), variables.end(), [&](const Variable& other) { return other.first == name; })) {
      texts.emplace_back(text);
    }
  }
  for (const auto& [name, value] : variables) texts.emplace_back(name).append("=").append(value);
  return texts;
}

std::vector<std::string> environment_without(std::string_view prefix) {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(prefix)) texts.emplace_back(*entry);
  }
  return texts;
}

std::vector<Variable> variables_that_begin_with(std::string_view prefix) {
  std::vector<Variable> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t end = text.find('=');
    if (end != std::string_view::npos && text.starts_with(prefix) && is_variable(text.substr(0, end))) {
      variables.emplace_back(text.substr(0, end), text.substr(end + 1));
    }
  }
  return variables;
}

std::optional<rlim_t> allow_open_files(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return std::nullopt;
  set_open_files(count);
  return limit.rlim_cur;
}

OrphanAdoption::OrphanAdoption() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}
OrphanAdoption::~OrphanAdoption() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }

void reap_adopted(pid_t guard, std::span<const pid_t> groups) {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    // Returns if this process belongs to others: Guard::look() collects the status of the guard, and ChildGroup::look() the
    // statuses of the processes in `groups`. The caller calls this function again at the next SIGCHLD.
    if (ended.si_pid == guard) return;
    if (std::ranges::find(groups, ::getpgid(ended.si_pid)) != groups.end()) return;
    if (::waitpid(ended.si_pid, nullptr, WNOHANG) <= 0) return;
  }
}

Result<ChildGroup> ChildGroup::start(const Program& program) {
  SHOAL_TRY(Pipe output, make_pipe());
  SHOAL_TRY(Pipe errors, make_pipe());
  SHOAL_TRY(Pipe failure, make_pipe());
  Pipe input;
  if (program.reads_input) {
    SHOAL_TRY(input, make_pipe());
  } else {
    input.reader = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input.reader) return unavailable("/dev/null cannot be opened: " + system_error_text(errno));
  }
  const std::vector<char*> command = pointers_to(program.command), environment = pointers_to(program.environment);
  const Beginning beginning{.file = program.file.c_str(),
                            .command = command.data(),
                            .environment = environment.data(),
                            .input = input.reader.number(),
                            .output = program.log < 0 ? output.writer.number() : program.log,
                            .errors = program.log < 0 ? errors.writer.number() : program.log,
                            .failure = failure.writer.number(),
                            .parent = ::getpid(),
                            .told_of_parents_death = program.told_of_our_death,
                            .files = program.files,
                            .kept = program.kept};
  const pid_t id = ::fork();
  if (id == 0) beginning.run();
  if (id < 0) return unavailable("no process can be made: " + no_thread_text(errno));
  ::setpgid(id, id);  // Parent and child both call this, since either may run first.
  ChildGroup child;
  child.id_ = id;
  failure.writer.close();
  if (const int error = failure_from(failure.reader.number()); error != 0) {
    std::string why = program.file + ": cannot be run: " + no_thread_text(error);
    return stays(error) ? failed_precondition(std::move(why)) : unavailable(std::move(why));
  }
  for (const Descriptor* end : {&input.writer, &output.reader, &errors.reader}) {
    if (*end) ::fcntl(end->number(), F_SETFL, O_NONBLOCK);
  }
  child.input_ = std::move(input.writer);
  child.output_ = std::move(output.reader);
  child.errors_ = std::move(errors.reader);
  return child;
}

ChildGroup::ChildGroup(ChildGroup&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      status_(other.status_),
      gone_(other.gone_) {}

ChildGroup::~ChildGroup() {
  if (id_ < 0 || gone_) return;
  send(SIGKILL);
  if (!status_) ::waitpid(id_, nullptr, 0);
}

void ChildGroup::send(int signal) const {
  if (!gone_) ::kill(-id_, signal);
}

void ChildGroup::look() {
  while (!gone_) {
    int status = 0;
    const pid_t ended = ::waitpid(-id_, &status, WNOHANG);
    if (ended == id_) status_ = status;
    if (ended < 0 && errno == ECHILD) gone_ = true;
    if (ended <= 0) return;
  }
}

std::optional<uint64_t> ChildGroup::resident_bytes() const {
  // In pages: the total and the resident size.
  const auto pages = numbers_in<uint64_t>("/proc/" + std::to_string(id_) + "/statm", 2);
  if (!pages[1]) return std::nullopt;
  return *pages[1] * uint64_t(::sysconf(_SC_PAGESIZE));
}

}  // namespace shoal::cli::launch
