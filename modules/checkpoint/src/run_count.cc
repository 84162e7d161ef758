// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/run_count.h"

#include <algorithm>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kBytesMax = 1 << 12;
// A file with this number of runs or more is damaged. (Besides, some JSON readers cannot represent larger integers.)
constexpr int64_t kRunsMax = int64_t(1) << 53;

std::string run_file(const std::string& model_dir) { return join_path(model_dir, "training_run"); }

Result<int64_t> checked(int64_t run) {
  if (run < kRunsMax) return run;
  return data_loss("\"run\" is " + std::to_string(run) + ", which is not a count of runs");
}

Result<int64_t> counted(Storage& storage, const std::string& model_dir) {
  Result<std::string> text = storage.read_all(run_file(model_dir), kBytesMax);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return 0;
  if (!text) return std::move(text).error();
  const Result<json::Json> object = json::parse_object(*text);
  Result<int64_t> run = object ? json::whole_member<int64_t>(*object, "run", 0) : Result<int64_t>(object.error());
  if (run) run = checked(*run);
  if (!run) return std::move(run).error().with_context(run_file(model_dir));
  return run;
}

Result<int64_t> marked(Storage& storage, const std::string& model_dir) {
  SHOAL_TRY(const std::optional<EndMark> mark, read_end_mark(storage, model_dir));
  return checked(mark ? mark->run : 0);
}

/// True for the error of a damaged file, false for that of a disk that cannot be read.
bool is_damage(const Error& error) {
  return error.kind() == ErrorKind::kDataLoss || error.kind() == ErrorKind::kInvalidArgument;
}

}  // namespace

Result<int64_t> newest_run(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  int64_t newest = 0;
  for (Result<int64_t> run : {counted(storage, model_dir), marked(storage, model_dir)}) {
    if (!run && !is_damage(run.error())) return run;
    if (!run) warn("the count of training runs of " + model_dir + " may be wrong: " + run.error().message());
    newest = std::max(newest, std::move(run).value_or(0));
  }
  return newest;
}

Result<int64_t> begin_run(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  SHOAL_TRY(const int64_t newest, newest_run(storage, model_dir, warn));
  const int64_t run = newest + 1;
  SHOAL_TRY_VOID(storage.write_atomically(run_file(model_dir), "{\"run\":" + std::to_string(run) + "}\n"));
  SHOAL_TRY_VOID(remove_end_mark(storage, model_dir));
  return run;
}

}  // namespace shoal::checkpoint
