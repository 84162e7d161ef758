// SPDX-License-Identifier: Apache-2.0
#include "model/check_meaning.h"

#include "model/rules.h"
#include "shoal/graph/meaning.h"

namespace shoal {

Result<void> check_meaning(Logger& log, const RunConfig& config, std::string_view recorded, const std::string& where,
                           const BuiltModel& model, Mode mode) {
  const MeaningScope scope = mode == Mode::kTrain ? MeaningScope::kWhole : MeaningScope::kPart;
  Result<void> compared = compare_meaning(recorded, where, model.graph().meaning(), scope);
  if (compared || compared.error().kind() != ErrorKind::kFailedPrecondition || !config.accept_changed_model())
    return compared;
  SHOAL_TRY(const Meaning before, Meaning::decode(recorded));
  log.warning(where + ": the meaning of the model has changed, which accept_changed_model allows: " +
              meaning_difference(before, model.graph().meaning(), scope).value_or(""));
  return {};
}

Result<void> check_use_of_weights(Logger& log, const RunConfig& config, const RecordedModel& recorded,
                                  const std::string& where, const BuiltModel& model, Mode mode) {
  SHOAL_TRY_VOID(check_meaning(log, config, recorded.meaning, where, model, mode));
  const std::string difference = op_version_difference(recorded.rules, model.graph());
  if (difference.empty()) return {};
  if (!config.accept_changed_model()) {
    return failed_precondition(where + ": the weights there were trained with other ops: " + difference +
                               "; take the program that has those versions, train on with this one, or set "
                               "accept_changed_model (--accept-changed-model) to use these weights all the same");
  }
  log.warning(where + ": the weights there were trained with other ops, which accept_changed_model allows: " + difference);
  return {};
}

void tell_of_rules(Logger& log, std::string_view recorded, const std::string& where, const BuiltModel& model) {
  if (recorded.empty()) return;
  const Result<ModelRules> before = decode_rules(recorded);
  const std::string difference =
      before ? rules_difference(*before, rules_of(model.spec().loss, *model.spec().train_op)) : "";
  if (!difference.empty()) log.warning("changed since " + where + " was written: " + difference);
}

}  // namespace shoal
