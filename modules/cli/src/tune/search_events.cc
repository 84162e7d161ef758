// SPDX-License-Identifier: Apache-2.0
#include "tune/search_events.h"

#include "shoal/monitor/event_writer.h"
#include "shoal/monitor/hyper_parameters.h"
#include "task_link.h"

namespace shoal::cli::tune {
namespace {

monitor::HyperParameterDomain domain_of(const tuning::Parameter& parameter) {
  using Kind = tuning::Parameter::Kind;
  monitor::HyperParameterDomain domain{.name = parameter.name};
  switch (parameter.kind) {
    case Kind::kReal: domain.interval = {parameter.low, parameter.high}; break;
    case Kind::kInteger: domain.interval = {double(parameter.least), double(parameter.largest)}; break;
    case Kind::kChoice: domain.choices.assign(parameter.choices.begin(), parameter.choices.end()); break;
  }
  if (parameter.condition) domain.description = "only in some trials: it depends on " + parameter.condition->name;
  return domain;
}

}  // namespace

Result<void> write_search_events(const std::string& folder, const tuning::SearchHeader& header) {
  monitor::HyperParameterExperiment experiment{.name = "shoal tune"};
  for (const tuning::Parameter& parameter : header.space.parameters())
    experiment.parameters.push_back(domain_of(parameter));
  experiment.metrics.push_back({.tag = header.metric, .folder = "eval"});
  const std::unique_ptr<Environment> env = quiet_environment();
  SHOAL_TRY(const std::unique_ptr<monitor::EventWriter> writer, monitor::EventWriter::open(*env, folder));
  SHOAL_TRY_VOID(writer->add_hparams_experiment(experiment));
  return writer->close();
}

}  // namespace shoal::cli::tune
