// SPDX-License-Identifier: Apache-2.0
#include "evaluate/predict_file.h"

#include "evaluate/prediction_text.h"

namespace shoal {
namespace {

Result<InputFn> input_of(const PredictInput& read, const std::string& path) {
  if (!read) {
    return failed_precondition(
        "--predict: this program does not say how it reads a file to predict for; in its code, let predict_input of the "
        "TrainSpec be a function from the path to the dataset of its rows, or export the model, and use `shoal predict`");
  }
  SHOAL_TRY(InputFn input, call_user("predict_input", [&] { return read(path); }));
  if (!input) return type_mismatch("--predict: the program's predict_input gave no input for " + path);
  return input;
}

}  // namespace

Result<void> predict_file(const Estimator& estimator, const PredictInput& read, PredictFile& request) {
  if (estimator.config().task().mode != cluster::TaskMode::kLocal) {
    return failed_precondition(
        "--predict: this process is a task of a cluster, and one process predicts; start it alone "
        "(--source local)");
  }
  SHOAL_TRY(const InputFn input, input_of(read, request.path));
  SHOAL_TRY(const std::optional<std::string> checkpoint, estimator.try_latest_checkpoint());
  if (!checkpoint) {
    return not_found("--predict: there is no checkpoint in " + estimator.model_dir() +
                     "; train first, and name the same folder with --model-dir");
  }
  SHOAL_TRY(const auto predictions, estimator.try_predict(input, {.checkpoint = checkpoint}));
  PredictionText text(request.out, request.json_lines);
  while (!std::ferror(request.out)) {
    SHOAL_TRY(const std::optional<data::TensorMap> row, predictions->try_next());
    if (!row) break;
    SHOAL_TRY_VOID(text.write(*row));
  }
  if (std::ferror(request.out) || std::fflush(request.out) != 0)
    return unavailable("--predict: standard output takes no more; is its disk full, or its reader gone?");
  request.done = true;
  return {};
}

}  // namespace shoal
