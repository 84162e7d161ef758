// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compares a model with the meaning that a checkpoint or another file records of its weights. The meaning is what the
/// numbers stand for: vocabularies, classes, buckets, boundaries. Weights are useless to a model with another meaning.
#include <string>
#include <string_view>

#include "model/model.h"
#include "shoal/base/log.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// Compares the meaning of `model` (vocabularies, classes and so on) with `recorded`, a meaning that was read from a file.
/// If they differ, returns FailedPrecondition, or only logs a warning if the config accepts a changed model. The error or
/// warning names the difference, and the file as `where` ("checkpoint m/model.ckpt-20"). An empty `recorded` agrees with
/// every model.
Result<void> check_meaning(Logger& log, const RunConfig& config, std::string_view recorded, const std::string& where,
                           const BuiltModel& model, Mode mode);

/// The texts with which a checkpoint describes the model that its weights belong to.
struct RecordedModel {
  std::string_view meaning = {};  ///< What the model's ids and logits stand for (Meaning::encode()); empty: not known.
  std::string_view rules = {};    ///< The model's constants and rules (encode_rules()); empty: not known.
};

/// Checks whether evaluation, prediction or export may use the weights of the recorded model: check_meaning() has to pass,
/// and the versions of the user's own ops have to be equal. FailedPrecondition, or only a warning if the config accepts a
/// changed model. Training itself continues with other versions of ops, and only reports them (tell_of_rules()).
Result<void> check_use_of_weights(Logger& log, const RunConfig& config, const RecordedModel& recorded,
                                  const std::string& where, const BuiltModel& model, Mode mode);

/// Logs in one line which constants, rates and rules of the model have changed since `recorded` was written to the file
/// `where`. Logs nothing if `recorded` is empty.
void tell_of_rules(Logger& log, std::string_view recorded, const std::string& where, const BuiltModel& model);

}  // namespace shoal
