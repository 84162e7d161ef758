// SPDX-License-Identifier: Apache-2.0
// Trains a small network to predict the next character of a text. One process, a cluster of threads (--cluster), or one
// task of a cluster (TF_CONFIG): the same program.
#include <cstdio>
#include <memory>
#include <mutex>

#include "model.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "text.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "text: trains a network to predict the next character, and tests it on the last tenth of the text.\n"
        "--data-dir (or SHOAL_DATA): the folder of input.txt, or its parent if that is in a folder shakespeare there. "
        "Without it the program writes a play of its own.",
    .flags = {{"model",
               "What to train: lstm (one layer of 256 units) or gpt (four transformer blocks)",
               std::string("lstm"),
               {"lstm", "gpt"}},
              {"learning-rate",
               "Adam's highest learning rate: reached in 100 steps, then down to a tenth over --steps",
               3e-3,
               {}}},
    .steps = 4000,
    .batch = 32,
    .save_checkpoints_steps = 500,
    .throttle_secs = 10};

/// The text for all tasks of this process. The first task that needs it loads it.
class SharedText {
 public:
  std::shared_ptr<const text::Text> get(const shoal::RunConfig& config, const shoal::CommandLine& line) {
    std::call_once(loaded_, [&] {
      text_ = std::make_shared<text::Text>(text::load_text(line.data_dir, uint64_t(config.random_seed().value_or(0))));
      if (text_->generated) {
        std::fprintf(
            stderr,
            "No --data-dir and no SHOAL_DATA: this run trains and tests on a play that the program writes itself\n");
      }
    });
    return text_;
  }

 private:
  std::once_flag loaded_;
  std::shared_ptr<const text::Text> text_;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line, std::shared_ptr<const text::Text> text) {
  // Every start uses the ids that the first start gave to the characters, even if the text has changed since then.
  const std::string characters = config.learned("characters", [&] { return text->characters; });
  const auto training = [text, characters, batch = line.batch] {
    const text::Windows windows = text::cut(text->training, characters, text::kContext, text::kContext / 4);
    return shoal::data::Dataset::from_tensor_slices(windows.ids, windows.next)
        .shuffle(windows.ids.shape()[0])
        .repeat()
        .batch(batch)
        .prefetch(2);
  };
  const auto test = [text, characters] {
    const text::Windows windows = text::cut(text->test, characters, text::kContext, text::kContext);
    return shoal::data::Dataset::from_tensor_slices(windows.ids, windows.next).batch(100);
  };
  shoal::Estimator estimator(
      line.flags.get_string("model") == "gpt" ? text::gpt : text::lstm, config,
      {{"characters", characters}, {"learning_rate", line.flags.get_real("learning-rate")}, {"steps", *line.steps}});
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps},
                            {.input_fn = test,
                             .steps = {},  // All of the test text is evaluated.
                             .throttle_secs = line.throttle_secs,
                             .start_delay_secs = 0,
                             .exporters = {shoal::best_exporter("best"), shoal::final_exporter("final")}});
}

}  // namespace

int main(int argc, char** argv) {
  SharedText text;
  return shoal::run(argc, argv, kProgram, [&text](shoal::RunConfig config, const shoal::CommandLine& line) {
    train(config, line, text.get(config, line));
  });
}
