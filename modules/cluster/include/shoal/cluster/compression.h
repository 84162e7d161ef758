// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compression of what trainers and servers send, for slow networks. Servers keep float32 in any case.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

struct Compression {
  /// The encoding of gradients. kTopK sends the share `fraction` of each variable's gradient with the largest absolute
  /// values, and adds the rest to the next gradient (error feedback; Stich, Cordonnier, Jaggi 2018, "Sparsified SGD
  /// with Memory"). Updates that a rule assigns to a variable, or averages into it, are no gradients: kTopK sends all of
  /// their values. The other encodings round these values as they round gradients.
  transport::Encoding gradients = transport::Encoding::kDense;
  /// The encoding of weights: kDense, kBfloat16, kFloat16 or kInt8.
  transport::Encoding weights = transport::Encoding::kDense;
  double fraction = 0.01;  ///< The share of elements that kTopK sends, in (0, 1].
  /// True if either direction is compressed.
  bool any() const { return gradients != transport::Encoding::kDense || weights != transport::Encoding::kDense; }
  friend bool operator==(const Compression&, const Compression&) = default;
};

/// Reads "none", "bfloat16", "float16" or "int8" for both directions; "top-k" or "top-k:0.001" for gradients (weights
/// stay float32); or each direction by itself, "gradients=top-k,weights=bfloat16". InvalidArgument listing the
/// accepted texts.
Result<Compression> parse_compression(std::string_view text);
/// The text that parse_compression() reads.
std::string to_string(const Compression& compression);

}  // namespace shoal::cluster
