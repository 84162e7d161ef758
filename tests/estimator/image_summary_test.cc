// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/image_summary.h"

#include <cmath>

#include "fixture.h"
#include "shoal/data/images.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A build without libpng says so where a model is made.
bool writes_png() {
  if (data::encode_png(Tensor::zeros(DType::kUInt8, {1, 1, 1}))) return true;
  Graph graph;
  EXPECT_THAT(refusal(
                  [&] {
                    image_summary("eye", graph.input("x", DType::kUInt8, {2, 3, 3, 1}));
                  },
                  ErrorKind::kFailedPrecondition),
              HasSubstr("libpng"));
  return false;
}

/// One batch of four images of floats, [2, 3] pixels each, of which the first is `pixels`.
Tensor images_of(std::vector<float> pixels) {
  pixels.resize(4 * 6, 0.5f);
  return Tensor::of<float>({4, 2, 3, 1}, std::span<const float>(pixels));
}

/// A model whose features are images, which its loss does not depend on.
EstimatorSpec model_of_images(const Features& features, Mode mode) {
  const Value images = features.single();
  EstimatorSpec spec;
  spec.mode = mode;
  const Value weight = images.graph().variable("weight", {1});
  spec.loss = ops::reduce_sum(weight);
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 0.0}).minimize(spec.loss);
  spec.image_summaries = {image_summary("input", images)};
  return spec;
}

TEST(ImageSummary, RecordsThreeImagesOfABatchAsPng) {
  if (!writes_png()) GTEST_SKIP() << "this build has no libpng";
  Place place;
  const Tensor images = images_of({0, 1, 0.5f, -3, 7, NAN});
  const auto input = [&] { return data::Dataset::from_tensor_slices(images).repeat().batch(4); };
  place.estimator(model_of_images, {.save_summary_steps = 2}).train(input, {.steps = 3});
  std::vector<std::pair<int64_t, std::string>> tags;
  Tensor first;
  const auto visit = [&](const monitor::EventValue& value) {
    if (value.kind != monitor::EventValue::Kind::kImage) return true;
    tags.emplace_back(value.global_step, value.tag);
    EXPECT_EQ(value.width, 3);
    EXPECT_EQ(value.height, 2);
    if (tags.size() == 1) first = value_or_raise(data::decode_image(value.text));
    return true;
  };
  EXPECT_TRUE(value_or_raise(monitor::read_events(*make_file_storage(), place.model_dir(), visit)).empty());
  using Tag = std::pair<int64_t, std::string>;
  EXPECT_THAT(tags, ElementsAre(Tag(1, "input/image/0"), Tag(1, "input/image/1"), Tag(1, "input/image/2"),
                                Tag(3, "input/image/0"), Tag(3, "input/image/1"), Tag(3, "input/image/2")));
  ASSERT_EQ(first.shape(), (Shape{2, 3, 1}));
  const std::span<const uint8_t> pixels = first.view().as<uint8_t>();
  EXPECT_THAT(std::vector<int>(pixels.begin(), pixels.end()), ElementsAre(0, 255, 128, 0, 255, 0));
}

TEST(ImageSummary, RefusesWhatIsNoImage) {
  if (!writes_png()) GTEST_SKIP() << "this build has no libpng";
  Graph graph;
  const auto why = [&](const char* name, DType dtype, DimShape shape) {
    return refusal([&] { image_summary("eye", graph.input(name, dtype, std::move(shape))); });
  };
  EXPECT_THAT(why("a", DType::kUInt8, {2, 3, 3}), HasSubstr("image_summary eye: the images are uint8"));
  EXPECT_THAT(why("b", DType::kInt64, {2, 3, 3, 1}),
              HasSubstr("expected uint8 or float32 [batch, height, width, channels]"));
  EXPECT_THAT(why("c", DType::kUInt8, {2, 3, 3, 5}), HasSubstr("with 1 to 4 channels"));
  EXPECT_THAT(why("d", DType::kUInt8, {2, 3, 3, Dim::symbol("channels")}), HasSubstr("with 1 to 4 channels"));
  EXPECT_THAT(refusal([&] { image_summary("eye", Value()); }), HasSubstr("the images are no value"));
}

TEST(ImageSummary, NamesAreUnique) {
  if (!writes_png()) GTEST_SKIP() << "this build has no libpng";
  Place place;
  const auto train = [&](const auto& change) {
    const ModelFn model = [&change](const Features& features, Mode mode) {
      EstimatorSpec spec = model_of_images(features, mode);
      change(spec);
      return spec;
    };
    return refusal([&] {
      place.estimator(model).train([] { return data::Dataset::from_tensor_slices(images_of({})).batch(4); }, {.steps = 1});
    });
  };
  EXPECT_THAT(train([](EstimatorSpec& spec) { spec.image_summaries.push_back(spec.image_summaries[0]); }),
              HasSubstr("two image summaries are named \"input\""));
  EXPECT_THAT(train([](EstimatorSpec& spec) { spec.image_summaries[0].encode = nullptr; }),
              HasSubstr("make the image summary \"input\" by image_summary()"));
}

}  // namespace
}  // namespace shoal::testing
