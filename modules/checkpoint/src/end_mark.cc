// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/end_mark.h"

#include <array>
#include <cmath>
#include <utility>

#include "json_text.h"
#include "optional_file.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

constexpr std::array<std::pair<EndReason, std::string_view>, 4> kReasons{{
    {EndReason::kMaxSteps, "max_steps"},
    {EndReason::kEndOfInput, "end_of_input"},
    {EndReason::kStopRequested, "stop_requested"},
    {EndReason::kInterrupted, "interrupted"},
}};
constexpr uint64_t kEndMarkBytesMax = 1 << 16;

std::string path_in(const std::string& model_dir) { return join_path(model_dir, "training_finished"); }

}  // namespace

std::string_view to_string(EndReason reason) {
  for (const auto& [value, name] : kReasons) {
    if (value == reason) return name;
  }
  SHOAL_CHECK(false);
  return {};
}

std::string encode_end_mark(const EndMark& mark) {
  const double wall_time = double(mark.wall_time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6;
  const std::string launched = mark.shoal_run.empty() ? "" : ",\"shoal_run\":" + json_string(mark.shoal_run);
  return "{\"run\":" + std::to_string(mark.run) + ",\"global_step\":" + std::to_string(mark.global_step) +
         ",\"checkpoint\":" + json_string(mark.checkpoint) + ",\"reason\":\"" + std::string(to_string(mark.reason)) +
         "\",\"wall_time\":" + json::text_of(json::Json(wall_time)) + launched + "}\n";
}

Result<EndMark> decode_end_mark(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  EndMark mark;
  if (object.contains("run")) {
    SHOAL_TRY(mark.run, json::whole_member<int64_t>(object, "run", 0));
  }
  if (object.contains("shoal_run")) {
    SHOAL_TRY(mark.shoal_run, json::string_member(object, "shoal_run"));
  }
  SHOAL_TRY(mark.global_step, json::whole_member<int64_t>(object, "global_step", 0));
  SHOAL_TRY(mark.checkpoint, json::string_member(object, "checkpoint"));
  SHOAL_TRY(const std::string reason, json::string_member(object, "reason"));
  SHOAL_TRY(const double wall_time, json::number_member(object, "wall_time"));
  if (!(wall_time >= 0 && wall_time < 9e9)) return json::must_be("wall_time", "a time");
  mark.wall_time = WallTime(std::chrono::microseconds(std::llround(wall_time * 1e6)));
  for (const auto& [value, name] : kReasons) {
    if (name != reason) continue;
    mark.reason = value;
    return mark;
  }
  return data_loss("\"reason\" is \"" + reason + "\", which is not a known reason to end");
}

Result<void> write_end_mark(Storage& storage, const std::string& model_dir, const EndMark& mark) {
  Result<void> written = storage.write_atomically(path_in(model_dir), encode_end_mark(mark));
  if (written) return {};
  return unavailable("the end mark was not written: " + written.error().message())
      .with_system_error(written.error().system_error());
}

Result<std::optional<EndMark>> read_end_mark(Storage& storage, const std::string& model_dir) {
  const std::string path = path_in(model_dir);
  return read_optional_file(storage, path, kEndMarkBytesMax, &decode_end_mark, "end mark " + path);
}

Result<void> remove_end_mark(Storage& storage, const std::string& model_dir) {
  Result<void> removed = storage.remove(path_in(model_dir));
  if (removed || removed.error().kind() == ErrorKind::kNotFound) return {};
  return removed;
}

}  // namespace shoal::checkpoint
