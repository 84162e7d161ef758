// Temporary files that a killed process left are removed by the next one that starts.
#include <gmock/gmock.h>

#include "fixture.h"
#include "shoal/estimator/exporter.h"

namespace shoal::testing {
namespace {

void age(const std::filesystem::path& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}

TEST(TemporaryFiles, OfAChiefAreRemovedOnceNobodyCanBeWritingThem) {
  Place place;
  for (const char* name : {"m/training_finished.tmp-17", "m/graph.json.tmp-17", "m/notes.tmp-17"}) {
    age(place.folder.write(name, "half"));
  }
  place.folder.write("m/graph.json.tmp-18", "of a living process");
  place.estimator(counting_model).train(endless, {.steps = 1});
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/training_finished.tmp-17"));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir() + "/graph.json.tmp-17"));
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/notes.tmp-17")) << "not ours";
  EXPECT_TRUE(std::filesystem::exists(place.model_dir() + "/graph.json.tmp-18"));
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
