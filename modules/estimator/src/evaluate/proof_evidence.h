// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the differences between the predictions of an exported file (such as an ONNX file) and those of Shoal.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/element.h"
#include "shoal/estimator/export_form.h"

namespace shoal {

/// One output of one example whose difference exceeds the tolerance.
struct ProofDifference {
  int64_t example = 0;
  std::string output;
  /// The difference as ExportProof::tolerance measures it, relative to the output's largest magnitude; infinite for unequal
  /// values that are not float32 or not finite.
  double size = 0;
  std::string shoal, exported;

  std::string text() const;
};

/// The rule that decides whether an exported form is accepted.
enum class ProofRule : uint8_t {
  kNumbers,  ///< Each number is within the tolerance.
  /// The share of correctly classified examples is at most ExportProof::accuracy_loss lower than Shoal's. For a model
  /// without classes, kNumbers decides.
  kAccuracy,
};

class ProofEvidence {
 public:
  /// `form` is what error messages call the exported file, such as "ONNX file".
  ProofEvidence(std::string form, const ExportProof& proof, ProofRule rule)
      : form_(std::move(form)), tolerance_(proof.tolerance), accuracy_loss_(proof.accuracy_loss), rule_(rule) {}

  /// Adds one batch: Shoal's predictions (`shoal`), the same predictions computed by the exported file (`exported`, without
  /// outputs that cannot be compared), and the labels, if there are any.
  void add(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported, const data::TensorMap& labels,
           int64_t rows);
  int64_t examples() const { return examples_; }
  const std::string& form() const { return form_; }

  std::string json() const;     ///< The file proof.json.
  std::string refusal() const;  ///< The reason why the export is not published; "" if it is.

 private:
  void add_output(const std::string& name, const Tensor& shoal, const Tensor& exported, int64_t rows);
  void count_classes(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported,
                     const data::TensorMap& labels, int64_t rows);
  void disagree(ProofDifference difference);
  double lost_accuracy() const;
  bool counts_classes() const { return rule_ == ProofRule::kAccuracy && has_classes_; }

  std::string form_;
  double tolerance_, accuracy_loss_;
  ProofRule rule_;
  int64_t examples_ = 0;
  std::set<int64_t> disagreeing_;  // Numbers of examples.
  bool has_classes_ = false;
  int64_t shoal_right_ = 0, exported_right_ = 0;
  std::map<std::string, double> largest_;
  std::vector<ProofDifference> beyond_;  // The largest difference comes first.
};

}  // namespace shoal
