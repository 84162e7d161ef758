// SPDX-License-Identifier: Apache-2.0
// Dataset::typical_element: the types of a dataset that has no element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../base/temporary_folder.h"
#include "shoal/base/production.h"
#include "shoal/data/dataset.h"

namespace shoal::data {
namespace {

class TypicalElement : public ::testing::Test {
 protected:
  /// Returns names, types and shapes of the dataset's typical element: "x float32 [2, 3]; y int64 [2]". Returns "" if the
  /// dataset has no typical element.
  std::string types(const Dataset& dataset) {
    const std::optional<Element> element = dataset.typical_element(*env_);
    if (!element) return "";
    std::string text;
    for (const TensorMap* tensors : {&element->features, &element->labels}) {
      for (const auto& [name, tensor] : *tensors) {
        text += (text.empty() ? "" : "; ") + name + " " + std::string(to_string(tensor.dtype())) + " " +
                to_string(tensor.shape());
      }
    }
    return text;
  }
  /// Three columns, without a row.
  static Dataset without_rows() {
    return Dataset::from_tensor_slices(
        {{"words", Tensor::of_strings({0, 2}, {})}, {"x", Tensor::zeros(DType::kFloat32, {0, 3})}},
        {{"y", Tensor::zeros(DType::kInt64, {0})}});
  }
  static Dataset three() { return Dataset::from_tensor_slices(Tensor::of<float>({3}, {1, 2, 3})); }
  static Result<bool> none(const Element&) { return false; }
  /// Counts its calls.
  MapFn counting() {
    return [this](Element element) -> Result<Element> {
      ++calls_;
      return element;
    };
  }

  std::unique_ptr<Environment> env_ = make_production_environment({});
  int calls_ = 0;
};

TEST_F(TypicalElement, OfTensorsWithoutRowsHasTheirTypes) {
  EXPECT_EQ(types(without_rows()), "words string [2]; x float32 [3]; y int64 []");
  EXPECT_EQ(types(without_rows().shuffle(10).repeat().batch(4).prefetch(2)),
            "words string [1, 2]; x float32 [1, 3]; y int64 [1]");
  EXPECT_EQ(types(Dataset::range(0).batch(2)), " int64 [1]");
}

TEST_F(TypicalElement, IsAnElementThatTheDatasetLeavesOut) {
  const Dataset split = three().split(0.5).held_out;
  for (const Dataset& empty :
       {three().filter(none), three().take_while(none), three().take(0), three().skip(3), three().repeat(0),
        three().shard(4, 3), split.take(0), three().cache().filter(none).repeat()}) {
    EXPECT_EQ(types(empty), " float32 []");
  }
  EXPECT_EQ(types(three().batch(4, {.drop_remainder = true})), " float32 [3]");
  EXPECT_EQ(types(three().padded_batch(4, {.drop_remainder = true})), " float32 [3]");
  EXPECT_EQ(types(three().window(4, {.drop_remainder = true})), " float32 [3]");
}

TEST_F(TypicalElement, LeavesNoFileOfACache) {
  const TemporaryFolder folder;
  EXPECT_EQ(types(three().cache(folder / "c").take(0)), " float32 []");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(TypicalElement, OfAMapIsWhatItsFunctionMakesOfARealElement) {
  EXPECT_EQ(types(three().map(counting()).filter(none)), " float32 []");
  EXPECT_EQ(types(three().take(0).map(counting(), {.parallel = 2})), " float32 []");
  EXPECT_GT(calls_, 0);
}

TEST_F(TypicalElement, FunctionsGetNeitherInventedNorRefusedElements) {
  EXPECT_EQ(types(without_rows().map(counting())), "");
  EXPECT_EQ(types(Dataset::range(0).map(counting(), {.parallel = 2})), "");
  EXPECT_EQ(types(three().filter(none).batch(2).map(counting())), "");
  EXPECT_EQ(types(three().filter(none).flat_map([this](const Element&) -> Result<Dataset> {
              ++calls_;
              return three();
            })),
            "");
  EXPECT_EQ(calls_, 0);
}

TEST_F(TypicalElement, IsUnknownIfTheSourceGivesNothing) {
  EXPECT_EQ(types(Dataset::from_generator([] { return [](Element&) -> Result<bool> { return false; }; })), "");
  EXPECT_EQ(types(Dataset::text_lines({"no/such/file"})), "");
}

}  // namespace
}  // namespace shoal::data
