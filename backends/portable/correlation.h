// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Correlations of images with filters, computed as products of packed panels (panels.h). Convolutions use them, and so do
/// the gradients for the image, which consist of one correlation for each phase of the strides. The filters are packed.
/// Most of the image is read where it lies: copied are only image rows that have to be padded with zeros.
///
/// Each element of a result is one sum in the order of the filter's rows, columns and input channels. It includes zeros to
/// the left and right of the image, and no rows above or below it. If filters have weights that are not finite, all
/// positions beyond the image are left out of the sums, since zero times infinity is NaN. How threads divide the rows does
/// not change a bit of the results.
#include <vector>

#include "panels.h"
#include "shoal/backends/kernel.h"
#include "shoal/base/buffer.h"

namespace shoal::backends::portable {

/// The relation between one axis of the result and one of the image. Result i is stored at target_begin + i * target_step.
/// It is a sum over the taps t in [0, taps): the image element i * stride + begin + t * dilation is multiplied by the
/// filters' tap number tap_begin + t * tap_step.
struct Axis {
  int64_t in, out, taps;
  int64_t stride = 1, begin = 0, dilation = 1;
  int64_t target_begin = 0, target_step = 1;
  int64_t tap_begin = 0, tap_step = 1;

  /// The number of image elements between the first (`begin`) and the last that any result uses, both included.
  int64_t seen() const { return (out - 1) * stride + (taps - 1) * dilation + 1; }
  bool reaches_beyond() const { return begin < 0 || begin + seen() > in; }
  /// True if the image elements that one result uses are contiguous.
  bool taps_are_neighbours() const { return dilation == 1 || taps == 1; }
};

struct Correlation {
  int64_t images, groups;
  Axis down, right;
  int64_t in_channels, out_channels;  ///< The numbers of channels in one group.
  int64_t target_height, target_width;
  // The distances in memory between weights of neighbouring output channels, input channels and groups. Neighbouring taps
  // are adjacent.
  int64_t out_step, in_step, group_step;
  int64_t filter_width;  ///< The number of weights in one row of a filter in memory.

  int64_t depth() const { return down.taps * right.taps * in_channels; }
  int64_t packed_floats_of_group() const { return packed_floats(depth(), out_channels); }
};

/// The range [first, last) of an axis' results whose tap `t` lies on the image, not beyond its border.
struct Span {
  int64_t first, last;
};
Span inside(const Axis& axis, int64_t tap);

/// Rows of an image. Row h begins at row(h), with the first pixel that a window uses.
struct ImageRows {
  const float* data;
  int64_t first, stride;

  const float* row(int64_t h) const { return data + (h - first) * stride; }
};
/// The rows [first, last) of an image, which lie where they are or, if windows reach beyond the image to the left or right, are
/// copied to `copies` with zeros around them. A copy of a row consists of right.seen() pixels.
ImageRows image_rows(const float* image, const Axis& right, int64_t channels, int64_t first, int64_t last, float* copies);

/// A kernel that consists of one or several correlations, which write disjoint parts of one result. Input 0 is the image,
/// input 1 the filters, input 2 a bias if `biased`.
class CorrelationKernel final : public Kernel {
 public:
  CorrelationKernel(const KernelRequest& request, std::vector<Correlation> parts, bool biased, bool relu);

  Result<void> run(const KernelCall& call) override;
  size_t scratch_bytes() const override { return keeps_ ? 0 : packed_bytes(); }
  size_t thread_scratch_bytes() const override { return own_bytes_; }
  size_t kept_bytes() const override { return keeps_ ? packed_bytes() : 0; }
  std::string implementation() const override { return "portable: panels"; }

 private:
  struct Part {
    Correlation shape;
    int64_t packed;  // The offset of this part's packed filters, in floats.
    bool padded;     // True if windows reach beyond the image to the left or right.
    /// If the correlation uses all weights of a filter: which tap each of them belongs to, in the order of the memory.
    std::vector<int64_t> taps;
  };
  struct Row;
  size_t packed_bytes() const { return size_t(packed_) * sizeof(float); }
  Result<void> pack_filters(const KernelCall& call);
  void pack_part(const Part& part, const float* filters, int64_t group, int64_t panel) const;
  bool goes_by_taps(const Part& part) const;
  void compute_rows(const Part& part, const KernelCall& call, int64_t first, int64_t count, float* own) const;
  void compute_row(const Part& part, const KernelCall& call, int64_t row, const ImageRows& rows) const;
  void by_rows(const Part& part, const Row& row, const ImageRows& rows) const;
  void by_taps(const Part& part, const Row& row) const;

  int threads_;
  bool keeps_, biased_, relu_;
  std::vector<Part> parts_;
  int64_t packed_ = 0;
  size_t own_bytes_ = 0;
  Ref<Buffer> kept_;
  float* filters_ = nullptr;
  VersionId kept_version_;
  bool finite_ = true;
};

}  // namespace shoal::backends::portable
