// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "logits_head.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

class MultiHead final : public Head {
 public:
  MultiHead(std::vector<std::shared_ptr<const Head>> heads, MultiHeadOptions options)
      : heads_(std::move(heads)), options_(std::move(options)) {
    if (heads_.empty()) refuse("there are no heads");
    std::set<std::string_view> names;
    for (const auto& head : heads_) {
      if (head == nullptr) refuse("one of the heads is null");
      if (head->name().empty()) refuse("one of the heads has no name; labels and metrics are known by it");
      if (!names.insert(head->name()).second) refuse("two heads have the name \"" + std::string(head->name()) + "\"");
    }
    int64_t sum = 0;
    for (const auto& head : heads_) {
      if (__builtin_add_overflow(sum, head->logits_dimension(), &sum))
        refuse("the heads have more logits than any machine holds");
    }
    check_weights();
  }

  std::string_view name() const override { return options_.name; }
  int64_t logits_dimension() const override {
    int64_t sum = 0;
    for (const auto& head : heads_) sum += head->logits_dimension();
    return sum;
  }

  HeadOutput describe(const HeadInput& input) const override {
    check_logits(input.logits);
    std::vector<int64_t> sizes;
    for (const auto& head : heads_) sizes.push_back(head->logits_dimension());
    const std::vector<Value> logits = ops::split(input.logits, -1, sizes);
    note_heads(input.logits.graph());
    HeadOutput output;
    for (size_t i = 0; i < heads_.size(); ++i) add(output, i, part_of(input, *heads_[i], logits[i]));
    if (input.mode == Mode::kPredict) output.signatures.push_back(predict_signature(output));
    return output;
  }

 private:
  /// Records which of the joint logits belong to which head, in Graph::meaning(), which says what ids and logits stand for.
  void note_heads(Graph& graph) const {
    std::vector<std::string> texts;
    for (const auto& head : heads_)
      texts.push_back(std::string(head->name()) + " " + std::to_string(head->logits_dimension()));
    graph.meaning().add(options_.name.empty() ? "head" : "head/" + options_.name,
                        {.kind = "multi_head", .lists = {{"heads", MeaningList::of(texts)}}});
  }

  std::string who() const { return options_.name.empty() ? "multi_head" : "multi_head " + options_.name; }
  [[noreturn]] void refuse(const std::string& what) const { raise(invalid_argument(who() + ": " + what)); }

  void check_weights() const {
    if (options_.loss_weights.empty()) return;
    if (options_.loss_weights.size() != heads_.size()) {
      refuse("there are " + std::to_string(options_.loss_weights.size()) + " loss_weights for " +
             std::to_string(heads_.size()) + " heads");
    }
    for (const double weight : options_.loss_weights) {
      if (!(weight >= 0 && std::isfinite(weight)))
        refuse("loss weight " + shortest_text(weight) + " is not a finite number >= 0");
    }
  }

  void check_logits(Value logits) const {
    const bool fits = logits.valid() && logits.rank() >= 2 && logits.shape()[logits.rank() - 1] == Dim(logits_dimension());
    if (fits) return;
    const std::string parts = comma_separated(heads_, [](const auto& head) {
      return std::string(head->name()) + " " + std::to_string(head->logits_dimension());
    });
    refuse("logits are " + described(logits) + ", expected float32 [batch, ..., " + std::to_string(logits_dimension()) +
           "]: " + parts);
  }

  HeadInput part_of(const HeadInput& input, const Head& head, Value logits) const {
    HeadInput part{.mode = input.mode, .features = input.features, .logits = logits};
    if (input.mode == Mode::kPredict) return part;
    const Value* const labels = input.labels.find(head.name());
    if (labels == nullptr) {
      refuse("there are no labels for head \"" + std::string(head.name()) +
             "\"; labels: " + (input.labels.empty() ? "none" : input.labels.names()));
    }
    part.labels = *labels;
    return part;
  }

  void add(HeadOutput& output, size_t index, const HeadInput& part) const {
    const Head& head = *heads_[index];
    HeadOutput described = head.describe(part);
    const std::string prefix = std::string(head.name()) + "/";
    for (auto& [key, value] : described.predictions) output.predictions.emplace_back(prefix + key, value);
    for (const TextPrediction& text : described.text_predictions) output.text_predictions.push_back(text.below(prefix));
    if (part.mode == Mode::kPredict) return add_signatures(output, std::string(head.name()), described);
    if (!described.loss.valid()) refuse("head \"" + std::string(head.name()) + "\" gave no loss");
    const double weight = options_.loss_weights.empty() ? 1 : options_.loss_weights[index];
    const Value loss = weight == 1 ? described.loss : ops::scale(described.loss, weight);
    output.loss = output.loss.valid() ? ops::add(output.loss, loss) : loss;
    if (part.mode != Mode::kEval) return;
    output.metrics.emplace_back("loss/" + std::string(head.name()), mean(described.loss));
    for (auto& metric : described.metrics) output.metrics.push_back(std::move(metric));
  }

  /// Adds to `output` the signatures of the head named `head`, which are in `described`. The predictions of this head are
  /// in `output` already, under the keys "<head>/<key>".
  static void add_signatures(HeadOutput& output, const std::string& head, HeadOutput& described) {
    if (described.signatures.empty()) {
      described.signatures = {predict_signature(described)};
      described.signatures[0].name = std::string(kDefaultSignature);
    }
    for (ExportSignature& signature : described.signatures) {
      for (auto& [name, key] : signature.outputs) key = head + "/" + key;
    }
    const ExportSignature& served = default_of(described.signatures);
    if (output.signatures.empty()) output.signatures.push_back({std::string(kDefaultSignature), served.outputs});
    output.signatures.push_back({head, served.outputs});
    for (ExportSignature& signature : described.signatures) {
      if (signature.name == kDefaultSignature) continue;
      output.signatures.push_back({head + "/" + signature.name, std::move(signature.outputs)});
    }
  }

  /// The signature for calls that name none: the one of the default's name or, in a head of a user's own that gives no
  /// signature this name, the first.
  static const ExportSignature& default_of(const std::vector<ExportSignature>& signatures) {
    const auto found = std::ranges::find(signatures, kDefaultSignature, &ExportSignature::name);
    return found == signatures.end() ? signatures.front() : *found;
  }

  std::vector<std::shared_ptr<const Head>> heads_;
  MultiHeadOptions options_;
};

}  // namespace

std::unique_ptr<Head> multi_head(std::vector<std::shared_ptr<const Head>> heads, MultiHeadOptions options) {
  return std::make_unique<MultiHead>(std::move(heads), std::move(options));
}

}  // namespace shoal::nn
