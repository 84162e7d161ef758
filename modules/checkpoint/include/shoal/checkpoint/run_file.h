// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file `run.json`, which identifies the run of a model_dir. A run begins when training starts in an empty folder, and
/// continues over any number of starts for as long as the folder is trained in. Only the process with the folder's lock
/// writes the file; anybody may read it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/environment.h"
#include "shoal/base/storage.h"

namespace shoal::checkpoint {

struct RunFile {
  /// 32 hexadecimal digits, drawn at random when the run began. A copy of the folder has the same digits.
  std::string id = {};
  WallTime begun{};          ///< When the run began. The file states it to the microsecond.
  std::string program = {};  ///< The name of the program that began the run ("mnist"); empty if not known.
  /// The base seed of initial weights, dropout and shuffles. A run may be started several times: a start for which the user
  /// gives no seed uses this one. A seed drawn at random is in [0, 2^53).
  int64_t seed = 0;
  bool seed_given = false;  ///< True if the user gave the seed at a start of training; false if it was drawn at random.
  /// What the model's numbers mean, as text made from its graph (Meaning::encode()): which word, class or column each id or
  /// logit stands for. Empty: not known yet.
  std::string meaning = {};
  friend bool operator==(const RunFile&, const RunFile&) = default;
};

/// A new run that begins now, with an id and a seed drawn at random.
RunFile draw_run(Environment& env);

/// Writes a run as one line of JSON:
/// {"version":1,"id":"4f...","begun":1700000000.25,"program":"mnist","seed":123,"seed_given":false,"meaning":"..."}.
/// `meaning` is left out if it is empty.
std::string encode_run(const RunFile& run);
/// Reads the line that encode_run() writes. DataLoss describes the mistake. Unknown members are ignored.
Result<RunFile> decode_run(std::string_view text);

/// Reads run.json of `model_dir`. Nothing if the file does not exist. DataLoss names the file if it is damaged. Other
/// errors come from reading.
Result<std::optional<RunFile>> read_run(Storage& storage, const std::string& model_dir);
/// Writes run.json to a temporary file and renames it. The folder has to exist. The error Unavailable names the path and
/// the cause.
Result<void> write_run(Storage& storage, const std::string& model_dir, const RunFile& run);

}  // namespace shoal::checkpoint
