// SPDX-License-Identifier: Apache-2.0
// Implements `shoal doctor [--model-dir DIR] [--peer HOST:PORT]... [--json]`.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "command.h"
#include "json_out.h"
#include "safe_text.h"
#include "shoal/arguments/command.h"
#include "shoal/backends/backend.h"
#include "shoal/backends/portable.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/path_error.h"
#include "shoal/base/process_info.h"
#include "shoal/base/source_date.h"
#include "shoal/base/utc_text.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/task_status.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/monitor/progress.h"
#include "shoal/transport/registry.h"
#include "task_link.h"

namespace shoal::cli {
namespace {

constexpr const char* kDoctorAbout =
    "Examines this machine before a training run, and says what is fine and what to change: processor, threads, memory, "
    "clock, disk, the other tasks, and the secret";

constexpr const char* kDoctorMore = R"(
Examples:
  shoal doctor                                       the machine alone
  shoal doctor --model-dir /srv/m                    also whether checkpoints can be written there
  shoal doctor --peer board1:4000 --peer board2:4000 also whether these tasks can be reached

If the environment describes a task (TF_CONFIG), the command also examines the parameter servers and the model's folder that
it names. Each line begins with the subject, and with "fine" or "look". The status is 0 if everything is fine, and 1 if
something is not. The command removes the files again that it writes in the model's folder.)";

constexpr uint64_t kDiskBytesMin = uint64_t(1) << 30;
constexpr uint64_t kMemoryBytesMin = uint64_t(64) << 20;
constexpr uint64_t kDescriptorsMin = 256;
constexpr size_t kProbeBytes = size_t(1) << 20;
constexpr double kSlowSyncSeconds = 0.5;

struct DoctorArguments {
  std::optional<std::string> model_dir{};
  std::vector<std::string> peers{};
  double timeout_secs = 3;
  LinkArguments link{};
  bool json = false;
};

struct Finding {
  std::string about;
  std::string text;      ///< What the check of `about` has found.
  std::string advice{};  ///< Advice on what to change; empty if all is well.

  bool fine() const { return advice.empty(); }
};

Finding look_at_build() {
  std::vector<std::string> backends;
  for (const auto& entry : backends::built_in_backends()) backends.push_back(entry.name);
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {.about = "build",
          .text = "shoal " SHOAL_VERSION ", by " + compiler + "; backends " + comma_separated(backends) + ", of which " +
                  backends::default_backend() + " is the default; transports " +
                  names_text(transport::built_in_transports()) + (SHOAL_CLI_TLS ? ", with TLS" : ", without TLS")};
}

Finding look_at_processor(const Context& context) {
  std::string model;
  if (const auto text = context.storage.read_all("/proc/cpuinfo")) {
    for (const char* name : {"model name", "Model", "uarch"}) {
      const size_t at = text->find(std::string(name) + "\t");
      const size_t colon = at == std::string::npos ? at : text->find(": ", at);
      if (colon == std::string::npos) continue;
      model = text->substr(colon + 2, text->find('\n', colon) - colon - 2);
      break;
    }
  }
  const std::string loops(backends::portable_loops());
  return {.about = "processor",
          .text = (model.empty() ? "its model is unknown" : model) + "; matrix products use " +
                  (loops == "plain" ? "instructions that every processor of this build has" : loops)};
}

Finding look_at_threads(const ProcessInfo& process) {
  const auto counted = [](int count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
  };
  Finding finding{.about = "threads",
                  .text = counted(process.usable_cores, "core", "cores") + " that this process may use"};
  if (process.usable_processors > 0) {
    finding.text += ", with " + counted(process.usable_processors, "hyper-thread", "hyper-threads");
  }
  if (process.slow_cores > 0) {
    finding.text += "; " + counted(process.slow_cores, "further core has", "further cores have") +
                    " less than half the capacity and are not used (--threads changes that)";
  }
  if (process.slowed_by_heat) {
    finding.text += "; heat slows the processor down at the moment";
    finding.advice = "give the machine a heat sink or a fan: with synchronous updates all trainers wait for the slowest";
  }
  if (!process.core_quota) return finding;
  finding.text += formatted("; its cgroup grants %.2g cores", *process.core_quota);
  if (*process.core_quota < 1) {
    finding.advice =
        "a step waits while the quota is used up, and so do all trainers with synchronous updates: grant a whole core";
  }
  return finding;
}

Finding look_at_memory(const ProcessInfo& process) {
  if (process.memory_bytes == 0) {
    return {.about = "memory", .text = "how much there is, is unknown; a model that is too large is not refused"};
  }
  Finding finding{.about = "memory", .text = monitor::format_bytes(process.memory_bytes) + ": " + process.memory_limit};
  if (process.memory_bytes < kMemoryBytesMin) {
    finding.advice = "that is little for a training: --memory-limit makes a program say beforehand what does not fit";
  }
  return finding;
}

Finding look_at_clock(WallTime now) {
  Finding finding{.about = "clock", .text = utc_text(now)};
  if (is_before_source(now)) {
    finding.advice =
        "it is wrong: certificates are refused, and files get false dates. Set it (date, timedatectl); or use a token, "
        "which works with any clock";
  }
  return finding;
}

/// Connects this process to itself by shared memory, in the way in which two tasks of one machine connect.
Task<Result<void>> try_shared_memory(Environment& env, Deadline deadline) {
  SHOAL_CO_TRY(transport::Transport * shared, env.transport("shm"));
  SHOAL_CO_TRY(const auto listener, shared->listen({"shm", "doctor:0"}, {}));
  SHOAL_CO_TRY(const auto near, co_await shared->connect(listener->endpoint(), {}, deadline));
  SHOAL_CO_TRY(const auto far, co_await listener->accept(deadline));
  co_return Result<void>{};
}

Finding look_at_shared_memory(Environment& env) {
  Finding finding{.about = "shared memory", .text = "tasks of this machine can use it (--transport shm)"};
  if (!transport::built_in_transports().contains("shm")) {
    finding.text = "this build has no transport for it; tasks of one machine use tcp";
    return finding;
  }
  const Result<void> works = env.run(try_shared_memory(env, env.after(std::chrono::seconds(3))));
  if (works) return finding;
  finding.text = works.error().message();
  finding.advice = "--transport shm does not work here: use tcp";
  return finding;
}

Finding look_at_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {.about = "descriptors", .text = "how many may be open, is unknown"};
  const auto shown = [](rlim_t count) {
    return count == RLIM_INFINITY ? std::string("any number") : std::to_string(count);
  };
  Finding finding{
      .about = "descriptors",
      .text = shown(limit.rlim_cur) + " files and connections may be open, " + shown(limit.rlim_max) + " at most"};
  if (limit.rlim_max < kDescriptorsMin)
    finding.advice = "a task needs one for each peer and some files: raise the limit (ulimit -Hn)";
  return finding;
}

/// The folder `path`, or the nearest folder above it that exists.
std::string nearest_folder(const std::string& path) {
  std::error_code none;
  std::filesystem::path folder = std::filesystem::absolute(path, none);
  while (!std::filesystem::exists(folder, none) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.string();
}

/// Writes a file in the way in which checkpoints are written. Returns the seconds until the file was on the disk.
Result<double> try_writing(Storage& storage, Environment& env, const std::string& folder) {
  const std::vector<std::byte> bytes(kProbeBytes, std::byte{0x5a});
  SHOAL_TRY(const auto file, storage.create(join_path(folder, "probe")));
  SHOAL_TRY_VOID(file->append(bytes));
  SHOAL_TRY_VOID(file->flush());
  const SteadyTime before = env.now();
  SHOAL_TRY_VOID(file->sync());
  SHOAL_TRY_VOID(storage.sync_folder(folder));
  const double seconds = to_seconds(env.now() - before);
  SHOAL_TRY_VOID(file->close());
  return seconds;
}

Finding look_at_folder(const Context& context, Environment& env, const std::string& path) {
  Finding finding{.about = "model_dir", .text = path};
  if (Result<void> right = check_path(path); !right) {
    return {.about = "model_dir", .text = right.error().message(), .advice = "give another --model-dir"};
  }
  const std::string nearest = nearest_folder(path);
  if (!context.storage.exists(path)) finding.text += ", which is to be made in " + nearest;
  const auto folder = context.storage.make_temporary_folder(join_path(nearest, ".shoal-doctor-"));
  if (!folder) {
    finding.text += ": " + folder.error().message();
    finding.advice = "the chief and the evaluator write there: let this user write, or name another folder";
    return finding;
  }
  const Result<double> seconds = try_writing(context.storage, env, *folder);
  const bool links = bool(context.storage.link(join_path(*folder, "probe"), join_path(*folder, "second")));
  const auto lock = context.storage.lock(join_path(*folder, "lock"), "shoal doctor");
  std::error_code none;
  const std::filesystem::space_info space = std::filesystem::space(*folder, none);
  if (const auto removed = context.storage.remove_all(*folder); !removed) finding.text += "; " + removed.error().message();
  if (!seconds) {
    finding.text += ": " + seconds.error().message();
    finding.advice = "checkpoints cannot be written there: make room, or name another folder";
    return finding;
  }
  if (!none) finding.text += ": " + monitor::format_bytes(space.available) + " free";
  finding.text += formatted("; 1 MiB is on the disk after %.3g ms", *seconds * 1e3);
  finding.text += lock ? "; locks work" : "; locks do not work: " + lock.error().message();
  finding.text += links ? "; hard links work" : "; hard links do not work, so that each checkpoint writes its tables whole";
  if (!lock)
    finding.advice =
        "nothing stops a second run that writes to the same folder: start one at a time, or use another file system";
  if (*seconds > kSlowSyncSeconds)
    finding.advice = "a save takes long on this disk: save less often (--save-checkpoints-secs)";
  if (!none && space.available < kDiskBytesMin) {
    finding.advice = "a run keeps five checkpoints, each as large as weights and optimizer slots: make room";
  }
  return finding;
}

Finding look_at_secret(const Result<transport::LinkOptions>& link, bool beyond_this_machine) {
  if (!link)
    return {.about = "secret", .text = link.error().message(), .advice = "tasks of this environment would not start"};
  if (link->credential) return {.about = "secret", .text = "there is one, and it can be read"};
  Finding finding{.about = "secret", .text = "there is none; tasks of one machine need none"};
  if (beyond_this_machine && !link->insecure) {
    finding.advice =
        "other machines are reached by tcp only with one: shoal keys token FILE makes a token, and --token-file FILE uses "
        "it";
  }
  return finding;
}

Finding look_at_peer(Environment& env, const std::string& address, const Result<transport::LinkOptions>& link,
                     double timeout_secs) {
  Finding finding{.about = "peer " + address, .text = {}};
  const auto parsed = cluster::parse_host_port(address);
  if (!parsed || !link) {
    finding.text = parsed ? "was not asked, because the secret cannot be read" : parsed.error().message();
    finding.advice = parsed ? "see to the secret first" : "an address is host:port";
    return finding;
  }
  auto asking = cluster::ask_status(env, {"tcp", address}, *link, env.after(seconds_to_duration(timeout_secs)));
  const Result<cluster::TaskStatus> status = env.run(std::move(asking));
  if (status) {
    finding.text = "is " + status->role + " " + std::to_string(status->index) + ", " + status->phase;
    return finding;
  }
  finding.text = status.error().message();
  switch (status.error().kind()) {
    case ErrorKind::kNotFound:
      finding.advice = "this machine cannot resolve the name: write it into /etc/hosts, or give the address as a number";
      break;
    case ErrorKind::kFailedPrecondition:
      finding.advice = "both sides need the same token, or certificates of one authority";
      break;
    case ErrorKind::kDeadlineExceeded:
      finding.advice = "the machine is off, or a firewall drops what comes to that port";
      break;
    default:
      finding.advice =
          "start the task there, or correct its address; tasks that only train listen nowhere and cannot be asked";
  }
  return finding;
}

std::vector<Finding> look(const Context& context, const DoctorArguments& arguments) {
  const ProcessInfo process = read_process_info();
  const std::unique_ptr<Environment> env = quiet_environment();
  std::vector<Finding> findings{look_at_build(),         look_at_processor(context),  look_at_threads(process),
                                look_at_memory(process), look_at_shared_memory(*env), look_at_clock(env->wall_now()),
                                look_at_descriptors()};
  std::optional<std::string> model_dir = arguments.model_dir;
  std::vector<std::string> peers = arguments.peers;
  if (const auto task = cluster::task_from_environment(cluster::process_getenv); !task) {
    findings.push_back(
        {.about = "TF_CONFIG", .text = task.error().message(), .advice = "tasks of this environment would not start"});
  } else if (task->mode != cluster::TaskMode::kLocal) {
    if (!model_dir) model_dir = task->model_dir;
    for (const auto& server : task->job.nodes(cluster::kPsRole)) {
      if (server.address != task->rpc_address) peers.push_back(server.address);
    }
  }
  if (model_dir) findings.push_back(look_at_folder(context, *env, *model_dir));
  const Result<transport::LinkOptions> link = link_from(arguments.link);
  findings.push_back(look_at_secret(link, !std::all_of(peers.begin(), peers.end(), cluster::is_loopback_address)));
  for (const std::string& peer : peers) findings.push_back(look_at_peer(*env, peer, link, arguments.timeout_secs));
  return findings;
}

void print_lines(const Context& context, const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.about.size());
  for (const Finding& finding : findings) {
    context.out << finding.about << std::string(width - finding.about.size() + 2, ' ')
                << (finding.fine() ? "fine  " : "look  ") << clean_lines(finding.text) << '\n';
    if (!finding.fine()) context.out << std::string(width + 8, ' ') << "-> " << finding.advice << '\n';
  }
}

Result<int> examine(Context& context, const DoctorArguments& arguments) {
  const std::vector<Finding> findings = look(context, arguments);
  const bool fine = std::all_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.fine(); });
  if (arguments.json) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
      list.push_back(Json{{"about", finding.about},
                          {"fine", finding.fine()},
                          {"text", finding.text},
                          {"advice", finding.fine() ? Json(nullptr) : Json(finding.advice)}});
    }
    print(context, Json{{"fine", fine}, {"findings", std::move(list)}});
  } else {
    print_lines(context, findings);
  }
  return fine ? 0 : 1;
}

}  // namespace

void add_doctor_command(arguments::Command& app, Action& selected) {
  arguments::Command& doctor = app.add_command("doctor", kDoctorAbout);
  doctor.set_footer(kDoctorMore);
  const auto arguments = std::make_shared<DoctorArguments>();
  doctor.add("--model-dir", arguments->model_dir, "The folder that a run would write to").path("FOLDER");
  doctor
      .add("--peer", arguments->peers,
           "The address of a parameter server or of rank 0, which is asked how it is; several are allowed")
      .type("HOST:PORT");
  doctor.add("--timeout-secs", arguments->timeout_secs, "Seconds until a peer has to have answered")
      .check(arguments::in_range(0.001, 3600.0))
      .shows_default();
  add_link_options(doctor, arguments->link);
  doctor.add_switch("--json", arguments->json, "One object of JSON in place of lines");
  doctor.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return examine(context, *arguments); }; });
}

}  // namespace shoal::cli
