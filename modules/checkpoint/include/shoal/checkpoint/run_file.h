// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The run of a model_dir: the file `run.json` (CONTRACT RU-1, RU-7). A run begins in an empty folder and goes on, over any
/// number of starts, for as long as the folder is trained in. Only who holds the folder writes the file; everybody may read.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/environment.h"
#include "shoal/base/storage.h"

namespace shoal::checkpoint {

struct RunFile {
  /// 32 hexadecimal digits, drawn when the run began. A copied folder keeps them.
  std::string id = {};
  WallTime begun{};          ///< Kept to the microsecond.
  std::string program = {};  ///< The name of the program that began the run ("mnist"); empty if nobody knows.
  /// The base seed of initial weights, dropout and shuffles, for starts that are given none. In [0, 2^53) where it was drawn.
  int64_t seed = 0;
  bool seed_given = false;  ///< The seed is the one that a start was given, and was not drawn.
  /// What the model means, as its graph was recorded; empty: not known yet.
  std::string meaning = {};
  friend bool operator==(const RunFile&, const RunFile&) = default;
};

/// A run that begins now, with an id and a seed that were drawn.
RunFile draw_run(Environment& env);

/// JSON of one line:
/// {"version":1,"id":"4f...","begun":1700000000.25,"program":"mnist","seed":123,"seed_given":false,"meaning":"..."},
/// `meaning` only if it is known.
std::string encode_run(const RunFile& run);
/// DataLoss says what is wrong with the text. Members of other names are passed over.
Result<RunFile> decode_run(std::string_view text);

/// Reads run.json of `model_dir`. Nothing if there is none. DataLoss names the file, if it is damaged; other errors are those
/// of reading.
Result<std::optional<RunFile>> read_run(Storage& storage, const std::string& model_dir);
/// Writes it by temporary file and rename. Unavailable names path and cause. The folder exists.
Result<void> write_run(Storage& storage, const std::string& model_dir, const RunFile& run);

}  // namespace shoal::checkpoint
