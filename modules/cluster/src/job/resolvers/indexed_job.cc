// SPDX-License-Identifier: Apache-2.0
// Kubernetes (k3s too): a Job whose completionMode is Indexed. Kubernetes sets the index of the pod, and its host name
// to <job>-<index>. The manifest has to set SHOAL_WORLD_SIZE, the number of pods, and SHOAL_SERVICE, the headless
// service that gives them names. Without SHOAL_WORLD_SIZE each pod is a run of its own, not part of a cluster.
#include "job/quote.h"
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {
namespace {

/// The name of the job, taken from this pod's host name.
Result<std::string> job_name(const GetEnv& getenv, int32_t rank) {
  SHOAL_TRY(const std::string host, needed_variable(getenv, "HOSTNAME", "SHOAL_SERVICE"));
  const std::string pod = host.substr(0, host.find('.'));
  const std::string ending = "-" + std::to_string(rank);
  if (pod.size() > ending.size() && pod.ends_with(ending)) return pod.substr(0, pod.size() - ending.size());
  return invalid_argument("HOSTNAME: " + in_quotes(host) + " does not end with \"" + ending +
                          "\", as host names of an Indexed Job do; set SHOAL_RENDEZVOUS=host:port of the pod with index 0");
}

}  // namespace

Result<std::optional<Place>> place_of_indexed_job(const GetEnv& getenv) {
  const RankVariables names{.rank = "JOB_COMPLETION_INDEX", .size = "SHOAL_WORLD_SIZE"};
  if (!is_set(getenv, names.rank) || !is_set(getenv, names.size)) return std::optional<Place>();
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kIndexedJob, names));
  const std::optional<std::string> service = variable(getenv, "SHOAL_SERVICE");
  if (service && place.size > 1) {
    SHOAL_TRY(const std::string job, job_name(getenv, place.rank));
    place.own_host = job + "-" + std::to_string(place.rank) + "." + *service;
    place.rendezvous = {job + "-0." + *service + ":" + std::to_string(kRendezvousPort)};
    SHOAL_TRY_VOID(check_address("SHOAL_SERVICE", place.rendezvous.front()));
  }
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
