// SPDX-License-Identifier: Apache-2.0
// The next process that starts removes the temporary files of a killed one.
#include <gmock/gmock.h>

#include "fixture.h"
#include "shoal/estimator/exporter.h"

namespace shoal::testing {
namespace {

void age(const std::filesystem::path& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}

/// Only the process that holds the folder's lock writes such files (CONTRACT CK-18).
TEST(TemporaryFiles, OfAChiefAreRemovedByTheNextOne) {
  Place place;
  age(place.folder.write("m/training_finished.tmp-17", "half"));
  for (const char* name :
       {"m/graph.json.tmp-18", "m/run.json.tmp-18", "m/model.ckpt-9.data-00000.tmp-18", "m/notes.tmp-17"}) {
    place.folder.write(name, "half");
  }
  place.estimator(counting_model).train(endless, {.steps = 1});
  for (const char* name :
       {"/training_finished.tmp-17", "/graph.json.tmp-18", "/run.json.tmp-18", "/model.ckpt-9.data-00000.tmp-18"}) {
    EXPECT_FALSE(std::filesystem::exists(place.model_dir() + name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/notes.tmp-17")) << "not ours";
}

TEST(TemporaryFiles, OfExportsAreRemovedByTheNextEvaluation) {
  Place place;
  const std::string base = place.model_dir() + "/export/last";
  place.folder.write("m/export/last/.export-1/graph.json", "half");
  place.folder.write("m/export/last/.export-2/variables/data", "half");
  place.folder.write("m/export/last/0000000001/export.json", "an old export");
  age(base + "/.export-1/graph.json");
  for (const char* old : {"/.export-1", "/.export-2/variables", "/.export-2", "/0000000001"}) age(base + old);
  Estimator estimator = place.estimator(counting_model, {.save_checkpoints_steps = 10});
  train_and_evaluate(estimator,
                     {.input_fn =
                          [] {
                            return losses({1, 1});
                          },
                      .max_steps = 20},  // The input ends: no final export.
                     {.input_fn = [] { return losses({1}); }, .exporters = final_exporter("last")});
  EXPECT_FALSE(std::filesystem::exists(base + "/.export-1"));
  EXPECT_TRUE(std::filesystem::exists(base + "/.export-2/variables/data")) << "its newest file is being written";
  EXPECT_TRUE(std::filesystem::exists(base + "/0000000001"));
}

}  // namespace
}  // namespace shoal::testing
