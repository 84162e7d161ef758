// SPDX-License-Identifier: Apache-2.0
#include "train/image_saver.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "shoal/estimator/interval_timer.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {
namespace {

constexpr int64_t kImagesMax = 3;

/// Image `index` of a batch, uint8 [height, width, channels].
Tensor image_of(const TensorView& batch, int64_t index) {
  Tensor image(DType::kUInt8, Shape{batch.shape[1], batch.shape[2], batch.shape[3]});
  const auto pixels = size_t(image.view().elements());
  const std::span<uint8_t> to = image.mutable_view().as<uint8_t>();
  if (batch.dtype == DType::kUInt8) {
    const std::span<const uint8_t> from = batch.as<uint8_t>().subspan(size_t(index) * pixels, pixels);
    std::copy(from.begin(), from.end(), to.begin());
    return image;
  }
  const std::span<const float> from = batch.as<float>().subspan(size_t(index) * pixels, pixels);
  std::transform(from.begin(), from.end(), to.begin(), [](float number) {
    const float inside = number > 0 ? std::min(number, 1.0f) : 0.0f;  // NaN becomes 0, too.
    return uint8_t(std::lround(inside * 255));
  });
  return image;
}

class ImageSaver final : public Hook {
 public:
  ImageSaver(std::vector<ImageSummary> summaries, int64_t every)
      : summaries_(std::move(summaries)), timer_(every, std::nullopt) {}
  void begin(HookSetup& setup) override {
    timer_.reset();
    for (const ImageSummary& summary : summaries_) setup.fetch("image/" + summary.name, summary.images);
  }
  void after_ready(RunContext& run) override { timer_.reset_if_behind(run.global_step()); }
  void before_step(RunContext& run, StepRequest& request) override {
    wanted_ = run.summaries() && timer_.due(run.global_step() + 1, run.now());
    if (wanted_) request.fetch();
  }
  void after_step(RunContext& run, const StepValues& values) override {
    if (!wanted_) return;
    timer_.trigger(run.global_step(), run.now());
    for (const ImageSummary& summary : summaries_) record(run, summary, values["image/" + summary.name]);
  }

 private:
  static void record(RunContext& run, const ImageSummary& summary, const TensorView& batch) {
    if (batch.elements() == 0) return;
    for (int64_t i = 0; i < std::min(batch.shape[0], kImagesMax); ++i) {
      const std::string png = value_or_raise(summary.encode(image_of(batch, i)));
      const monitor::EncodedImage image{
          .bytes = png, .width = batch.shape[2], .height = batch.shape[1], .channels = int(batch.shape[3])};
      value_or_raise(
          run.summaries()->add_image(int64_t(run.global_step()), summary.name + "/image/" + std::to_string(i), image));
    }
  }

  std::vector<ImageSummary> summaries_;
  IntervalTimer timer_;
  bool wanted_ = false;
};

}  // namespace

std::shared_ptr<Hook> image_saver(std::vector<ImageSummary> summaries, int64_t every_steps) {
  return std::make_shared<ImageSaver>(std::move(summaries), every_steps);
}

}  // namespace shoal
