// SPDX-License-Identifier: Apache-2.0
// Implements `shoal keys ca --out DIR [--days N]`, `shoal keys task --ca DIR --role ROLE --index N --out DIR [--days N]` and
// `shoal keys watcher --ca DIR --out DIR [--days N]`.
#include "certificate_commands.h"

#include <chrono>

#include "json_out.h"
#include "new_files.h"
#include "shoal/arguments/command.h"
#include "shoal/transport/authority.h"
#include "shoal/transport/credential.h"

namespace shoal::cli {
namespace {

// Only the CA's folder has the file of the CA's private key. Tasks' folders have the CA's certificate, kAuthorityFile, too.
constexpr const char* kCaKeyFile = "ca.key";
// The files of a monitoring system. Their names differ from a task's files, so that no task takes the folder for its own.
constexpr const char *kWatcherCertificateFile = "watcher.pem", *kWatcherKeyFile = "watcher.key";
constexpr int kDaysMax = 3650;

struct CaOptions {
  std::string out;
  int days = kDaysMax;
};

struct TaskOptions {
  std::string ca;
  std::string out;
  transport::PeerIdentity task;
  int days = 365;
};

struct WatcherOptions {
  std::string ca;
  std::string out;
  int days = 365;
};

/// The validity begins an hour ago, since clocks differ.
transport::Validity from_now(int days) {
  const auto now = std::chrono::floor<std::chrono::seconds>(read_wall_clock());
  return {.begin = now - std::chrono::hours(1), .end = now + std::chrono::days(days)};
}

Result<int> make_ca(Context& context, const CaOptions& options) {
  const transport::Validity validity = from_now(options.days);
  SHOAL_TRY(const transport::KeyPair made, transport::make_authority(validity));
  const std::string certificate = options.out + "/" + transport::kAuthorityFile, key = options.out + "/" + kCaKeyFile;
  SHOAL_TRY_VOID(
      write_new_files(options.out, {{kCaKeyFile, made.key.text(), true}, {transport::kAuthorityFile, made.certificate}}));
  print(context, {{"certificate", certificate}, {"key", key}, {"valid_until", transport::to_utc_text(validity.end)}});
  return 0;
}

Result<transport::KeyPair> read_ca(const std::string& folder) {
  return transport::read_key_pair(
      {.certificate = folder + "/" + transport::kAuthorityFile, .key = folder + "/" + kCaKeyFile});
}

Result<int> make_task(Context& context, const TaskOptions& options) {
  SHOAL_TRY(const transport::KeyPair ca, read_ca(options.ca));
  auto made = transport::make_task_certificate(ca, options.task, from_now(options.days));
  if (!made) return std::move(made).error().with_context(options.ca);
  SHOAL_TRY(const auto read_again, transport::Certificate::parse(*made, ca.certificate));
  SHOAL_TRY_VOID(write_new_files(options.out, {{transport::kAuthorityFile, ca.certificate},
                                               {transport::kCertificateFile, made->certificate},
                                               {transport::kKeyFile, made->key.text(), true}}));
  print(context, {{"task", to_string(read_again.owner())},
                  {"tls_dir", options.out},
                  {"valid_until", transport::to_utc_text(read_again.validity().end)}});
  return 0;
}

Result<int> make_watcher(Context& context, const WatcherOptions& options) {
  SHOAL_TRY(const transport::KeyPair ca, read_ca(options.ca));
  auto made = transport::make_watcher_certificate(ca, from_now(options.days));
  if (!made) return std::move(made).error().with_context(options.ca);
  const std::string certificate = options.out + "/" + kWatcherCertificateFile, key = options.out + "/" + kWatcherKeyFile;
  SHOAL_TRY_VOID(write_new_files(options.out, {{transport::kAuthorityFile, ca.certificate},
                                               {kWatcherCertificateFile, made->own.certificate},
                                               {kWatcherKeyFile, made->own.key.text(), true}}));
  print(context, {{"certificate", certificate}, {"key", key}, {"valid_until", transport::to_utc_text(made->validity.end)}});
  return 0;
}

void add_watcher_command(arguments::Command& keys, Action& selected) {
  arguments::Command& watcher = keys.add_command(
      "watcher",
      "Makes a key and a certificate for a monitoring system: it may read /metrics of the tasks, and be none of them");
  const auto options = std::make_shared<WatcherOptions>();
  watcher.add("--ca", options->ca, "Folder of the CA (shoal keys ca)").path("FOLDER").required();
  watcher.add("--out", options->out, "New folder for its files: ca.pem, watcher.pem and watcher.key")
      .path("FOLDER")
      .required();
  watcher.add("--days", options->days, "How long it is valid, at most as long as the CA")
      .check(arguments::in_range(1, kDaysMax))
      .shows_default();
  watcher.on_selected(
      [&selected, options] { selected = [options](Context& context) { return make_watcher(context, *options); }; });
}

}  // namespace

void add_certificate_commands(arguments::Command& keys, Action& selected) {
  arguments::Command& ca = keys.add_command("ca", "Makes a CA, which signs the certificates of a cluster's tasks");
  const auto ca_options = std::make_shared<CaOptions>();
  ca.add("--out", ca_options->out, "New folder for its key, which stays where certificates are made, and ca.pem")
      .path("FOLDER")
      .required();
  ca.add("--days", ca_options->days, "How long it is valid").check(arguments::in_range(1, kDaysMax)).shows_default();
  ca.on_selected(
      [&selected, ca_options] { selected = [ca_options](Context& context) { return make_ca(context, *ca_options); }; });

  arguments::Command& task =
      keys.add_command("task", "Makes a key and a certificate for one task: it may be that one, and no other");
  const auto task_options = std::make_shared<TaskOptions>();
  task.add("--ca", task_options->ca, "Folder of the CA (shoal keys ca)").path("FOLDER").required();
  task.add("--role", task_options->task.role, "Its role in the cluster")
      .check(arguments::one_of({"chief", "master", "worker", "ps", "evaluator"}))
      .required();
  task.add("--index", task_options->task.index, "Its index in that role").check(arguments::in_range(0, 65535)).required();
  task.add("--out", task_options->out, "New folder for its files (for --tls-dir of that task)").path("FOLDER").required();
  task.add("--days", task_options->days, "How long it is valid, at most as long as the CA")
      .check(arguments::in_range(1, kDaysMax))
      .shows_default();
  task.on_selected([&selected, task_options] {
    selected = [task_options](Context& context) { return make_task(context, *task_options); };
  });
  add_watcher_command(keys, selected);
}

}  // namespace shoal::cli
