// SPDX-License-Identifier: Apache-2.0
// Writes a compose file: one service for each task, on one host.
#include "launch/emit/emit_job.h"
#include "launch/emit/quoting.h"
#include "launch/job_tasks.h"
#include "shoal/cluster/place.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kCompose =
    R"(# A job of @size@, by shoal launch --emit compose. The image holds the program, and shoal
# in a folder of its PATH. Once, beside this file, the secret by which the tasks know each other:
#
#   shoal keys token --out @name@-token
#
# Then docker compose -p @name@ -f @name@-compose.yaml up; docker compose -p @name@ ps shows who is healthy,
# which here means that the job trains. After docker compose -p @name@ -f @name@-compose.yaml down, or when this machine
# shuts down, up goes on from where the tasks were. docs/how-to/batch-systems.md has more.
x-task: &task
  image: @image@
  entrypoint: @command@
  command: []
  restart: "@restart@"
  stop_grace_period: @stop_secs@s
  secrets: [token]
  volumes:
  - type: volume
    source: model
    target: @model_dir@
  healthcheck:
    test: [CMD, shoal, status, --ready]
    interval: 10s
    timeout: 10s
    retries: 3
    start_period: 60s
x-environment: &environment
  SHOAL_WORLD_SIZE: "@tasks@"
  SHOAL_RENDEZVOUS: "@rendezvous@"
  SHOAL_PS: "@ps@"
  SHOAL_EVALUATOR: "@evaluator@"
  SHOAL_TOKEN_FILE: /run/secrets/token
  SHOAL_ON_SIGTERM: leave  # a container that is stopped saves, and goes on when it is started again
services:
@services@secrets:
  token:
    file: "./@name@-token"
volumes:
  model: {}
)";

constexpr std::string_view kOneService = R"(  @service@:
    <<: *task
    environment:
      <<: *environment
      SHOAL_RANK: "@rank@"
      SHOAL_HOST: @service@
)";

/// The restart policy. "no" stands for 0 restarts, since Docker reads "on-failure:0" as unlimited restarts.
std::string restart_policy(int restarts) { return restarts == 0 ? "no" : "on-failure:" + std::to_string(restarts); }

}  // namespace

std::vector<EmittedFile> emit_compose(const EmitJob& job) {
  const std::vector<JobTask> tasks = tasks_of(job.size);  // The index of a task is its rank.
  std::string services;
  for (size_t rank = 0; rank < tasks.size(); ++rank) {
    services += filled(kOneService, {{"service", tasks[rank].file_name}, {"rank", std::to_string(rank)}});
  }
  return {{job.name + "-compose.yaml",
           filled(kCompose, {{"name", job.name},
                             {"size", "chief," + to_string(job.size)},
                             {"tasks", std::to_string(job.size.tasks())},
                             {"ps", std::to_string(job.size.ps)},
                             {"evaluator", job.size.evaluator ? "1" : "0"},
                             {"rendezvous", tasks.front().file_name + ":" + std::to_string(cluster::kRendezvousPort)},
                             {"restart", restart_policy(job.policy.max_restarts)},
                             {"stop_secs", std::to_string(stop_secs(job))},
                             {"image", yaml_text(without_variables(job.image))},
                             {"command", yaml_list(without_variables(job.command))},
                             {"model_dir", yaml_text(without_variables(job.model_dir))},
                             {"services", services}})}};
}

}  // namespace shoal::cli::launch
