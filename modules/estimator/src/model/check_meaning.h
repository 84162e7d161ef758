// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compares a model that was built with what a checkpoint, or another file, says of the model that its weights are of
/// (CONTRACT RU-2).
#include <string>
#include <string_view>

#include "model/model.h"
#include "shoal/base/log.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// FailedPrecondition naming what differs, unless the config accepts a changed model: then that is a warning. `recorded` is
/// the text that `where` has ("checkpoint m/model.ckpt-20"); empty, it agrees with everything.
Result<void> check_meaning(Logger& log, const RunConfig& config, std::string_view recorded, const std::string& where,
                           const BuiltModel& model, Mode mode);

/// What a checkpoint says of the model that its weights are of.
struct RecordedModel {
  std::string_view meaning = {};  ///< Meaning::encode(); empty: not known.
  std::string_view rest = {};     ///< encode_rest(); empty: not known.
};

/// Whether a model that is not trained (evaluation, prediction, export) may use weights of the recorded one: check_meaning(), and
/// the versions of the user's own ops. FailedPrecondition or a warning, as there. Training itself goes on with another
/// version, and tells of it (tell_of_rest()).
Result<void> check_use_of_weights(Logger& log, const RunConfig& config, const RecordedModel& recorded,
                                  const std::string& where, const BuiltModel& model, Mode mode);

/// Says in one line what else the model computes with since `recorded` was written, which `where` has. Empty: nothing.
void tell_of_rest(Logger& log, std::string_view recorded, const std::string& where, const BuiltModel& model);

}  // namespace shoal
