// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signatures: the ways in which an exported model can be called. A head gives those of its kind.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::nn {

/// The name of the signature that who asks for none gets. (That of TensorFlow Serving.)
inline constexpr std::string_view kDefaultSignature = "serving_default";

/// What one call gives: outputs by name, each the prediction (or the text prediction) of a key.
struct ExportSignature {
  std::string name;
  std::vector<std::pair<std::string, std::string>> outputs;  ///< Pairs of an output's name and a prediction's key.
};

}  // namespace shoal::nn
