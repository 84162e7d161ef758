// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hyper-parameters for TensorBoard's page HPARAMS: the parameters of a training, its end, and the space of a search.
/// EventWriter writes them; docs/formats.md has the fields.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::monitor {

/// TensorBoard has a single type of numbers, so whole numbers are doubles, too.
using HyperParameterValue = std::variant<double, bool, std::string>;

struct HyperParameter {
  std::string name;
  HyperParameterValue value;
};

/// The start of a training, which TensorBoard calls a session. A session consists of the training's folder and the
/// evaluations' folders below.
struct SessionStart {
  std::vector<HyperParameter> parameters;  ///< If two names are equal, the first one counts.
  std::string model_dir{};                 ///< The folder of the checkpoints, for display.
  /// TensorBoard's page HPARAMS shows all trainings of a group in one row; meant for trainings with equal hyper-parameters.
  /// Empty: this training has a row of its own.
  std::string group{};
};

enum class SessionStatus : uint8_t { kSuccess = 1, kFailure = 2 };

/// The values that a search tries for a hyper-parameter: either `interval` or `choices` is set.
struct HyperParameterDomain {
  std::string name;
  std::optional<std::pair<double, double>> interval{};  ///< The lowest and the highest number, both included.
  std::vector<HyperParameterValue> choices{};           ///< The values to try, all of one type.
  std::string description{};                            ///< May be Markdown.
};

/// A scalar that ranks trials.
struct ExperimentMetric {
  std::string tag;             ///< The scalar's tag in the event files, "accuracy".
  std::string folder{};        ///< The scalar's folder below the trial's folder, "eval"; empty: the trial's folder.
  std::string display_name{};  ///< The name that TensorBoard shows; empty: it shows folder and tag.
};

/// A search over hyper-parameters. Its event is written once, in the folder above the trials' folders.
struct HyperParameterExperiment {
  std::string name{};
  std::string description{};
  std::vector<HyperParameterDomain> parameters{};
  std::vector<ExperimentMetric> metrics{};
};

}  // namespace shoal::monitor
