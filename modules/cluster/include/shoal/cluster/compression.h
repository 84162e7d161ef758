// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compression: fewer bytes between trainers and servers, for slow networks. What servers keep is float32 either way.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

struct Compression {
  /// What trainers send. kTopK: of each variable the share `fraction` of its gradient that is largest; what was not sent is
  /// added to the next gradient (error feedback; Stich, Cordonnier, Jaggi 2018, "Sparsified SGD with Memory"). What is no gradient,
  /// and is assigned or averaged into a variable, is sent whole. (The other encodings round it as they round gradients.)
  transport::Encoding gradients = transport::Encoding::kDense;
  /// What servers send: kDense, kBfloat16, kFloat16 or kInt8.
  transport::Encoding weights = transport::Encoding::kDense;
  double fraction = 0.01;  ///< The share that kTopK sends, in (0, 1].
  /// Whether anything is compressed.
  bool any() const { return gradients != transport::Encoding::kDense || weights != transport::Encoding::kDense; }
  friend bool operator==(const Compression&, const Compression&) = default;
};

/// One word for both directions: "none", "bfloat16", "float16", "int8"; "top-k" or "top-k:0.001" (gradients, as they come;
/// weights float32). Or each by itself: "gradients=top-k,weights=bfloat16". InvalidArgument listing what there is.
Result<Compression> parse_compression(std::string_view text);
/// The text that parse_compression() reads.
std::string to_string(const Compression& compression);

}  // namespace shoal::cluster
