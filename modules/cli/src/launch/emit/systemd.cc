// SPDX-License-Identifier: Apache-2.0
// Writes a template unit for systemd, "shoal-NAME@.service": its instance 3, for example, runs the task of rank 3.
#include <chrono>

#include "launch/emit/emit_job.h"
#include "launch/emit/quoting.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kUnit = R"(# A job of @size@, by shoal launch --emit systemd: ranks 0 to @last@.
#
# On every board: the program, this file as /etc/systemd/system/shoal-@name@@at@.service, a user who may write to the
# model's folder (useradd --system shoal; the folder is the same one for all boards), and the secret by which the tasks
# know each other. That is made once, and copied to the others (scp, as root):
#
#   umask 077; mkdir -p /etc/shoal; (printf SHOAL_TOKEN=; shoal keys token) > /etc/shoal/@name@.env
#
# Rank 0 is the board of the address below:
#
#   systemctl enable --now shoal-@name@@at@0      and on the others shoal-@name@@at@1, shoal-@name@@at@2, ...
#   journalctl -fu 'shoal-@name@@at@*'
#   (set -a; . /etc/shoal/@name@.env; shoal status ADDRESS)      how it is, with the address below
#
# When training is complete: systemctl disable it. docs/how-to/batch-systems.md has more.
[Unit]
Description=Shoal job @name@, rank %i of @tasks@
Wants=network-online.target
After=network-online.target
RequiresMountsFor=@model_dir@
# systemd gives up after this many starts in this time, those by hand among them; systemctl reset-failed counts anew.
StartLimitIntervalSec=@window@
StartLimitBurst=@starts@

[Service]
Type=exec
User=shoal
Environment=SHOAL_RANK=%i SHOAL_WORLD_SIZE=@tasks@ SHOAL_PS=@ps@ SHOAL_EVALUATOR=@evaluator@
# A SIGTERM says that this board shuts down, or that the unit is stopped: the task saves, and goes on when it is started again.
Environment=SHOAL_ON_SIGTERM=leave
Environment=@rendezvous@
EnvironmentFile=/etc/shoal/@name@.env
ExecStart=@command@
# 2, 3, 4: wrong usage, a loss that is not a number, damaged data. No restart mends these.
Restart=@restart@
RestartPreventExitStatus=2 3 4
# 143: it gave way. That is no failure, and unless systemd itself stops the unit, it is started again.
SuccessExitStatus=143
RestartForceExitStatus=143
RestartSec=@restart_ms@ms
KillMode=mixed
TimeoutStopSec=@stop_secs@
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=@model_dir@
ProtectHome=read-only
PrivateTmp=yes
ProtectControlGroups=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# Not MemoryDenyWriteExecute: oneDNN writes its kernels as it goes.

[Install]
WantedBy=multi-user.target
)";

/// How many starts of a task systemd allows within window(): the first one and `restarts` more. With 0 restarts
/// (Restart=no) the limit is the default one, since systemd also counts starts by hand and starts after status 143.
int64_t starts(int64_t restarts) { return restarts == 0 ? PolicyOptions().max_restarts + 1 : restarts + 1; }

/// The time over which systemd counts starts: a day, or longer if all restarts may take more than a day. Over a
/// shorter time, the count would never reach the limit of starts.
std::string window(const PolicyOptions& policy) {
  constexpr double kDay = 86'400, kTooLong = 1e10;  // systemd's longest time is 5.8e11 s.
  const double all = 2 * double(starts(policy.max_restarts)) * to_seconds(policy.first_wait);
  if (all <= kDay) return "1d";
  return all > kTooLong ? "infinity" : std::to_string(int64_t(all)) + "s";
}

}  // namespace

std::vector<EmittedFile> emit_systemd(const EmitJob& job) {
  // The colon keeps systemd from expanding variables in the words.
  std::string command = unit_word(":" + job.command.front());
  for (size_t i = 1; i < job.command.size(); ++i) command += " " + unit_word(job.command[i]);
  return {{"shoal-" + job.name + "@.service",
           filled(kUnit, {{"name", job.name},
                          {"at", "@"},
                          {"size", "chief," + to_string(job.size)},
                          {"last", std::to_string(job.size.tasks() - 1)},
                          {"tasks", std::to_string(job.size.tasks())},
                          {"ps", std::to_string(job.size.ps)},
                          {"evaluator", job.size.evaluator ? "1" : "0"},
                          {"rendezvous", unit_word("SHOAL_RENDEZVOUS=" + job.rendezvous)},
                          {"model_dir", unit_word(job.model_dir)},
                          {"window", window(job.policy)},
                          {"starts", std::to_string(starts(job.policy.max_restarts))},
                          {"restart", job.policy.max_restarts == 0 ? "no" : "on-failure"},
                          {"restart_ms", std::to_string(job.policy.first_wait / std::chrono::milliseconds(1))},
                          {"stop_secs", std::to_string(stop_secs(job))},
                          {"command", command}})}};
}

}  // namespace shoal::cli::launch
