// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hyper-parameters as TensorBoard's page HPARAMS has them: what a training was made with, how it ended, and over what a search
/// looks. EventWriter writes them; docs/formats.md has the fields.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::monitor {

/// TensorBoard has one type of numbers: whole ones are doubles, too.
using HyperParameterValue = std::variant<double, bool, std::string>;

struct HyperParameter {
  std::string name;
  HyperParameterValue value;
};

/// The start of a training, which TensorBoard calls a session. Its folder, and those below for its evaluations, are the session.
struct SessionStart {
  std::vector<HyperParameter> parameters;  ///< Of two with one name the first counts.
  std::string model_dir{};                 ///< Where the checkpoints are; shown as it is.
  /// Trainings with the same hyper-parameters may have one group, which is one line of the table. Empty: a group of its own.
  std::string group{};
};

enum class SessionStatus : uint8_t { kSuccess = 1, kFailure = 2 };

/// What values a search gives a hyper-parameter: exactly one of the two.
struct HyperParameterDomain {
  std::string name;
  std::optional<std::pair<double, double>> interval{};  ///< The lowest and the highest number, both included.
  std::vector<HyperParameterValue> choices{};           ///< All values, of one type.
  std::string description{};                            ///< May be Markdown, as is that of an Experiment.
};

/// A scalar by which trials are compared.
struct ExperimentMetric {
  std::string tag;             ///< The scalar's tag in the event files, "accuracy".
  std::string folder{};        ///< The folder below the trial's where those lie, "eval"; empty: the trial's own.
  std::string display_name{};  ///< Empty: folder and tag.
};

/// A search over hyper-parameters, told once, in the folder above those of the trials.
struct Experiment {
  std::string name{};
  std::string description{};
  std::vector<HyperParameterDomain> parameters{};
  std::vector<ExperimentMetric> metrics{};
};

}  // namespace shoal::monitor
