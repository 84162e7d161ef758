// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/run_file.h"

#include <algorithm>
#include <cmath>

#include "json_text.h"
#include "optional_file.h"
#include "shoal/checkpoint/checksum.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

constexpr int64_t kRunFileVersion = 1;
constexpr uint64_t kRunBytesMax = uint64_t(64) << 20;  // Large, since the file may have vocabularies (RunFile::meaning).
constexpr size_t kIdDigits = 32;
constexpr int kSeedBits = 53;  // JSON readers that store numbers as doubles also keep such a seed exactly.

std::string run_path(const std::string& model_dir) { return join_path(model_dir, "run.json"); }

bool is_id(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kIdDigits && std::ranges::all_of(text, digit);
}

}  // namespace

RunFile draw_run(Environment& env) {
  const uint64_t first = env.entropy(), second = env.entropy(), seed = env.entropy();
  return {.id = to_hex(first) + to_hex(second),
          .begun = env.wall_now(),
          .program = env.process().program,
          .seed = int64_t(seed >> (64 - kSeedBits))};
}

std::string encode_run(const RunFile& run) {
  const double begun = double(run.begun.time_since_epoch() / std::chrono::microseconds(1)) / 1e6;
  std::string text = "{\"version\":" + std::to_string(kRunFileVersion);
  text.append(",\"id\":").append(json_string(run.id));
  text.append(",\"begun\":").append(json::text_of(json::Json(begun)));
  text.append(",\"program\":").append(json_string(run.program));
  text.append(",\"seed\":").append(std::to_string(run.seed));
  text.append(",\"seed_given\":").append(run.seed_given ? "true" : "false");
  if (!run.meaning.empty()) text.append(",\"meaning\":").append(json_string(run.meaning));
  return text.append("}\n");
}

Result<RunFile> decode_run(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  SHOAL_TRY(const int64_t version, json::whole_member<int64_t>(object, "version", 1));
  if (version > kRunFileVersion) {
    return data_loss("format version " + std::to_string(version) + ", but this build reads up to " +
                     std::to_string(kRunFileVersion) + "; use a newer Shoal");
  }
  RunFile run;
  SHOAL_TRY(run.id, json::string_member(object, "id"));
  if (!is_id(run.id)) return json::must_be("id", "32 hexadecimal digits");
  SHOAL_TRY(const double begun, json::number_member(object, "begun"));
  if (!(begun >= 0 && begun < 9e9)) return json::must_be("begun", "a time");
  run.begun = WallTime(std::chrono::microseconds(std::llround(begun * 1e6)));
  SHOAL_TRY(run.program, json::string_member(object, "program"));
  SHOAL_TRY(run.seed, json::whole_member<int64_t>(object, "seed"));
  SHOAL_TRY(run.seed_given, json::bool_member(object, "seed_given"));
  if (object.contains("meaning")) {
    SHOAL_TRY(run.meaning, json::string_member(object, "meaning"));
  }
  return run;
}

Result<std::optional<RunFile>> read_run(Storage& storage, const std::string& model_dir) {
  const std::string path = run_path(model_dir);
  return read_optional_file(storage, path, kRunBytesMax, &decode_run, path);
}

Result<void> write_run(Storage& storage, const std::string& model_dir, const RunFile& run) {
  Result<void> written = storage.write_atomically(run_path(model_dir), encode_run(run));
  if (written) return {};
  return std::move(written).error().with_context("the run file of " + model_dir + " was not written");
}
}  // namespace shoal::checkpoint
