// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/tf_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "job/quote.h"
#include "job/tf_config_json.h"
#include "shoal/base/forever.h"
#include "shoal/base/number_text.h"
#include "shoal/base/path_error.h"
#include "shoal/json/text.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

/// The member, or null if it is absent or `object` is no object. (The library's own access throws for a non-object.)
const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}
bool is_missing(const Json* value) { return value == nullptr || value->is_null(); }

Error wrong_type(const std::string& name, const Json& value, const std::string& wanted) {
  return type_mismatch(name + ": is of type " + value.type_name() + ", must be " + wanted);
}

/// Reads model_dir. Refuses the empty string, and a path other than the one that the caller has given.
Result<std::optional<std::string>> read_model_dir(const Json& parts, const std::optional<std::string>& given) {
  const Json* value = member(parts, "model_dir");
  if (is_missing(value)) return std::optional<std::string>();
  if (!value->is_string()) return wrong_type("model_dir", *value, "a string");
  std::string path = value->get<std::string>();
  if (path.empty()) return invalid_argument("model_dir: is the empty string; give a path or leave it out");
  if (Result<void> usable = check_path(path); !usable) return std::move(usable).error().with_context("model_dir");
  if (given && *given != path) {
    return invalid_argument("model_dir: " + in_quotes(path) + " is not the " + in_quotes(*given) +
                            " that RunConfig was given; give only one, or the same");
  }
  return std::optional<std::string>(std::move(path));
}

/// Returns the field `service` of TF_CONFIG, a JSON object, as text; nothing if the field is null or missing.
Result<std::optional<std::string>> read_service(Description& description) {
  const Json* value = member(description.parts, "service");
  if (is_missing(value)) return std::optional<std::string>();
  if (!value->is_object()) return wrong_type("service", *value, "an object");
  return std::optional<std::string>(std::move(description.service));
}

Result<int32_t> checked_index(const std::string& name, int64_t value) {
  if (value < 0) return invalid_argument(name + ": is negative; indices count from 0");
  if (value > std::numeric_limits<int32_t>::max()) return invalid_argument(name + ": is beyond the range of int32");
  return int32_t(value);
}

/// Reads an index: an integer, a real without a fraction, or a string of a decimal integer.
Result<int32_t> read_index(const Json& value) {
  const std::string name = "task.index";
  if (value.is_number_unsigned()) {
    return checked_index(name, int64_t(std::min(value.get<uint64_t>(), uint64_t(std::numeric_limits<int64_t>::max()))));
  }
  if (value.is_number_integer()) return checked_index(name, value.get<int64_t>());
  if (value.is_number_float()) {
    const double real = value.get<double>();
    if (std::trunc(real) != real) return wrong_type(name, value, "a whole number, but has a fraction");
    return checked_index(name, int64_t(std::clamp(real, -1e15, 1e15)));
  }
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (const auto integer = clamped_number_from<int64_t>(text)) return checked_index(name, *integer);
    return type_mismatch(name + ": " + in_quotes(text) + " is no decimal integer");
  }
  return wrong_type(name, value, "an integer");
}

Result<void> add_node(ClusterSpec& cluster, const std::string& role, int32_t index, const Json& address) {
  if (!address.is_string()) {
    return wrong_type("role " + in_quotes(role) + ", index " + std::to_string(index), address, "a string host:port");
  }
  return cluster.add(role, index, address.get<std::string>());
}

/// Reads a role in its sparse form, {"3": "host:1", "5": "host:2"}. Tasks are added in the order of their indices,
/// which makes each addition cheap.
Result<void> read_sparse_role(ClusterSpec& cluster, const std::string& role, const Json& members) {
  std::vector<std::pair<int32_t, const Json*>> nodes;
  for (const auto& [key, address] : members.items()) {
    const bool digits = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits)
      return invalid_argument("role " + in_quotes(role) + ": the index " + in_quotes(key) + " is no decimal integer");
    SHOAL_TRY(const int32_t index,
              checked_index("role " + in_quotes(role) + ", index " + in_quotes(key), *clamped_number_from<int64_t>(key)));
    nodes.emplace_back(index, &address);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [index, address] : nodes) SHOAL_TRY_VOID(add_node(cluster, role, index, *address));
  return {};
}

/// Reads the cluster: for each role a list of addresses, or an object from index to address.
Result<ClusterSpec> read_cluster(const Json& value) {
  if (!value.is_object()) return wrong_type("cluster", value, "an object from role names to lists of host:port");
  ClusterSpec cluster;
  for (const auto& [role, members] : value.items()) {
    cluster.add_role(role);
    if (members.is_array()) {
      for (size_t i = 0; i < members.size(); ++i) SHOAL_TRY_VOID(add_node(cluster, role, int32_t(i), members[i]));
    } else if (members.is_object()) {
      SHOAL_TRY_VOID(read_sparse_role(cluster, role, members));
    } else {
      return wrong_type("role " + in_quotes(role), members, "a list of host:port, or an object from index to host:port");
    }
  }
  return cluster;
}

/// Reads the type; nothing if it is missing, null or empty.
Result<std::optional<std::string>> read_type(const Json& task) {
  const Json* value = member(task, "type");
  if (is_missing(value)) return std::optional<std::string>();
  if (!value->is_string()) return wrong_type("task.type", *value, "a string");
  std::string type = value->get<std::string>();
  if (type.empty()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(type));
}

/// Reads the task of a TF_CONFIG without `cluster`. The task may only have the type worker and the index 0, and may lack
/// either.
Result<TaskConfig> read_local_task(const Json& task) {
  SHOAL_TRY(const auto type, read_type(task));
  if (type && *type == kEvaluatorRole) {
    return invalid_argument("task.type: an evaluator needs to see the cluster; give `cluster` as in the other tasks");
  }
  if (type && *type == "local") {
    return invalid_argument("task.type: to run locally leave `cluster` and `task` out; there is no type \"local\"");
  }
  if (type && *type != kWorkerRole) {
    return invalid_argument("task.type: " + in_quotes(*type) +
                            " needs a `cluster`; without one only \"worker\" is accepted");
  }
  if (const Json* value = member(task, "index"); !is_missing(value)) {
    SHOAL_TRY(const int32_t index, read_index(*value));
    if (index != 0) {
      return invalid_argument("task.index: " + std::to_string(index) +
                              " needs a `cluster`; without one only 0 is accepted");
    }
  }
  return TaskConfig{};
}

/// Reads the task of a process that has a cluster.
Result<TaskConfig> read_member_task(ClusterSpec cluster, const Json& task) {
  SHOAL_TRY_VOID(cluster.check());
  SHOAL_TRY(const auto type, read_type(task));
  std::optional<int32_t> index;
  if (const Json* value = member(task, "index"); type && !is_missing(value)) {
    SHOAL_TRY(index, read_index(*value));
  }
  return resolve_task(std::move(cluster), type.value_or(""), index);
}

Result<std::optional<std::string>> read_trial(const Json& task) {
  const Json* value = member(task, "trial");
  if (is_missing(value)) return std::optional<std::string>();
  if (!value->is_string()) return wrong_type("task.trial", *value, "a string");
  return std::optional<std::string>(value->get<std::string>());
}

Result<TaskConfig> read_description(Description description, const TfConfigOptions& options) {
  const Json& parts = description.parts;
  SHOAL_TRY(auto model_dir, read_model_dir(parts, options.model_dir));
  SHOAL_TRY(auto service, read_service(description));
  ClusterSpec cluster;
  if (const Json* value = member(parts, "cluster")) {
    SHOAL_TRY(cluster, read_cluster(*value));
  } else if (member(parts, "sparseCluster")) {
    // For a TFJob with enableDynamicWorker Kubeflow sets sparseCluster in place of `cluster`. Without this error, worker 0
    // of such a job would train alone.
    return invalid_argument(
        "sparseCluster: names neither the chief nor the other workers, which a task of Shoal has to know; leave "
        "enableDynamicWorker out of the TFJob, and TF_CONFIG has a `cluster` of all tasks");
  }
  static const auto& kNoTask = forever(Json(Json::object()));
  const Json* task = member(parts, "task");
  if (task && !task->is_object()) return wrong_type("task", *task, "an object");
  if (!task) task = &kNoTask;

  // Found out before `evaluator` is removed from `cluster`: a cluster with only an evaluator is an error, since it lacks a
  // chief. It must not be taken for a TF_CONFIG without a cluster, which means local mode.
  const bool has_cluster = !cluster.empty();
  std::vector<std::string> warnings;
  if (cluster.remove_role(kEvaluatorRole)) {
    warnings.push_back("TF_CONFIG: the evaluator is no member of the training cluster: `evaluator` dropped from `cluster`");
  }
  SHOAL_TRY(TaskConfig result, has_cluster ? read_member_task(std::move(cluster), *task) : read_local_task(*task));
  SHOAL_TRY(result.trial, read_trial(*task));
  result.source = ConfigSource::kTfConfig;
  result.model_dir = std::move(model_dir);
  result.service = std::move(service);
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  return result;
}

bool is_dense(std::span<const ClusterSpec::Node> nodes) {
  return nodes.empty() || size_t(nodes.back().index) + 1 == nodes.size();
}

Json to_json(const ClusterSpec& cluster) {
  Json result = Json::object();
  for (const auto& [role, nodes] : cluster.roles()) {
    Json& members = result[role] = is_dense(nodes) ? Json::array() : Json::object();
    for (const ClusterSpec::Node& node : nodes) {
      if (members.is_array()) {
        members.push_back(node.address);
      } else {
        members[std::to_string(node.index)] = node.address;
      }
    }
  }
  return result;
}

}  // namespace

Result<TaskConfig> parse_tf_config(std::string_view text, const TfConfigOptions& options) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return TaskConfig{};
  const auto parse = [&]() -> Result<TaskConfig> {
    SHOAL_TRY(Description description, parse_description(text));
    return read_description(std::move(description), options);
  };
  Result<TaskConfig> task = parse();
  if (!task) return std::move(task).error().with_context("TF_CONFIG");
  return task;
}

std::string to_tf_config(const TaskConfig& task) {
  Json result = Json::object();
  if (!task.job.empty()) {
    result["cluster"] = to_json(task.job);
    result["task"] = {{"type", task.type}, {"index", task.index}};
  }
  if (task.trial) result["task"]["trial"] = *task.trial;
  if (task.model_dir) result["model_dir"] = *task.model_dir;
  std::string text = json::text_of(result);
  if (!task.service) return text;
  // `service` is JSON text. It is inserted before the last brace of `text`, and not parsed: a JSON tree would take many
  // times the memory of the text.
  text.pop_back();
  return text + (result.empty() ? "" : ",") + "\"service\":" + *task.service + "}";
}

}  // namespace shoal::cluster
