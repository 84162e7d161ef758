// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/hyper_parameters.h"

#include <algorithm>
#include <set>

#include "event_codec.h"
#include "event_pieces.h"

namespace shoal::monitor {
namespace {

using protozero::pbf_writer;

void add_text_field(pbf_writer& message, uint32_t field, const std::string& text) {
  if (!text.empty()) message.add_string(field, text);
}

/// Adds a google.protobuf.Value.
void add_value(pbf_writer& message, uint32_t field, const HyperParameterValue& value) {
  pbf_writer written(message, field);
  if (const double* number = std::get_if<double>(&value)) written.add_double(struct_field::kNumber, *number);
  if (const bool* flag = std::get_if<bool>(&value)) written.add_bool(struct_field::kBool, *flag);
  if (const std::string* text = std::get_if<std::string>(&value)) written.add_string(struct_field::kString, *text);
}

/// Encodes an event for TensorBoard's plug-in hparams, which reads only the metadata `content`. TensorBoard requires that
/// the event also has a tensor, so it gets one with a single element, 0.
std::string encode_hparams(double wall_time, std::string_view tag, std::string_view content) {
  constexpr int64_t kOne = 1;
  constexpr float kNothing = 0;
  return encode_tensor(wall_time, 0, tag,
                       {.shape = {&kOne, 1}, .values = {&kNothing, 1}, .plugin = "hparams", .content = content});
}

/// Encodes HParamsPluginData with a single field, which `write` fills.
template <class Write>
std::string content_with(uint32_t field, Write write) {
  std::string content;
  pbf_writer data(content);
  {
    pbf_writer message(data, field);
    write(message);
  }
  return content;
}

/// Returns the DataType of api.proto.
int32_t type_of(const HyperParameterDomain& domain) {
  constexpr int32_t kString = 1, kBool = 2, kNumber = 3;
  if (domain.interval || std::holds_alternative<double>(domain.choices.front())) return kNumber;
  return std::holds_alternative<bool>(domain.choices.front()) ? kBool : kString;
}

void add_domain(pbf_writer& experiment, const HyperParameterDomain& domain) {
  using namespace hparam_info_field;
  pbf_writer info(experiment, experiment_field::kHparamInfos);
  info.add_string(kName, domain.name);
  add_text_field(info, kDescription, domain.description);
  info.add_enum(kType, type_of(domain));
  if (domain.interval) {
    pbf_writer interval(info, kDomainInterval);
    interval.add_double(kIntervalMin, domain.interval->first);
    interval.add_double(kIntervalMax, domain.interval->second);
    return;
  }
  pbf_writer choices(info, kDomainDiscrete);
  for (const HyperParameterValue& choice : domain.choices) add_value(choices, struct_field::kListValues, choice);
}

void add_metric(pbf_writer& experiment, const ExperimentMetric& metric) {
  using namespace metric_info_field;
  pbf_writer info(experiment, experiment_field::kMetricInfos);
  {
    pbf_writer name(info, kName);
    add_text_field(name, kNameGroup, metric.folder);
    name.add_string(kNameTag, metric.tag);
  }
  add_text_field(info, kDisplayName, metric.display_name);
}

}  // namespace

Result<void> check_experiment(const HyperParameterExperiment& experiment) {
  for (const HyperParameterDomain& domain : experiment.parameters) {
    const std::string who = "hyper-parameter " + domain.name + " of an experiment: ";
    if (domain.interval.has_value() != domain.choices.empty()) {
      return invalid_argument(who + "it has " +
                              (domain.interval ? "both an interval and choices" : "neither an interval nor choices") +
                              "; give one of the two");
    }
    if (domain.interval && !(domain.interval->first <= domain.interval->second)) {
      return invalid_argument(who + "its interval ends before it begins; give the lower number first");
    }
    const auto is_other = [&](const HyperParameterValue& choice) {
      return choice.index() != domain.choices.front().index();
    };
    if (std::any_of(domain.choices.begin(), domain.choices.end(), is_other)) {
      return invalid_argument(who + "its choices are of several types; make all of them numbers, texts or flags");
    }
  }
  return {};
}

std::string encode_experiment(double wall_time, const HyperParameterExperiment& experiment) {
  return encode_hparams(wall_time, "_hparams_/experiment",
                        content_with(hparams_field::kExperiment, [&](pbf_writer& message) {
                          add_text_field(message, experiment_field::kName, experiment.name);
                          add_text_field(message, experiment_field::kDescription, experiment.description);
                          message.add_double(experiment_field::kTimeCreatedSecs, wall_time);
                          for (const HyperParameterDomain& domain : experiment.parameters) add_domain(message, domain);
                          for (const ExperimentMetric& metric : experiment.metrics) add_metric(message, metric);
                        }));
}

std::string encode_session_start(double wall_time, const SessionStart& start) {
  const auto write = [&](pbf_writer& message) {
    std::set<std::string_view> written;  // Only the first of equal names is written: readers would use the last.
    for (const HyperParameter& parameter : start.parameters) {
      if (!written.insert(parameter.name).second) continue;
      pbf_writer entry(message, session_start_field::kHparams);
      entry.add_string(entry_field::kKey, parameter.name);
      add_value(entry, entry_field::kValue, parameter.value);
    }
    add_text_field(message, session_start_field::kModelUri, start.model_dir);
    add_text_field(message, session_start_field::kGroupName, start.group);
    message.add_double(session_start_field::kStartTimeSecs, wall_time);
  };
  return encode_hparams(wall_time, "_hparams_/session_start_info", content_with(hparams_field::kSessionStart, write));
}

std::string encode_session_end(double wall_time, SessionStatus status) {
  const auto write = [&](pbf_writer& message) {
    message.add_enum(session_end_field::kStatus, int32_t(status));
    message.add_double(session_end_field::kEndTimeSecs, wall_time);
  };
  return encode_hparams(wall_time, "_hparams_/session_end_info", content_with(hparams_field::kSessionEnd, write));
}

}  // namespace shoal::monitor
