#pragma once
/// Optimizers: an update rule, and how fast.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/train_op.h"
#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// A constant, or a function of the global step before the update (0 for the first). A value.
class LearningRate {
 public:
  /// Raises InvalidArgument unless finite and >= 0.
  LearningRate(double constant);  // NOLINT: a number is one
  /// A pure function: servers and restarts rely on equal answers for equal steps. Raises InvalidArgument for an empty one.
  template <class F>
    requires std::is_invocable_r_v<double, const F&, uint64_t>
  LearningRate(F schedule) : LearningRate(Schedule{std::move(schedule)}) {}  // NOLINT: so is a function
  double at(uint64_t global_step) const { return at_(global_step); }

 private:
  struct Schedule {
    std::function<double(uint64_t)> at;
  };
  explicit LearningRate(Schedule schedule);
  std::function<double(uint64_t)> at_;
};

/// A value; the same one may train any number of models.
class Optimizer {
 public:
  /// Raises InvalidArgument if the rule is invalid (see validate()).
  Optimizer(std::string name, UpdateRule rule, LearningRate learning_rate);

  /// The train op that lowers `loss` by changing its graph's trainable variables; adds gradient nodes. Variables that the
  /// loss does not depend on are left out; those that it depends on through ops::embedding_lookup alone are updated by
  /// rows, each touched row as if it were a variable of its own (VariableUpdate::rows), unless gradients are clipped or the
  /// rule needs the whole variable (LAMB): then they come whole. The moving averages that layers keep
  /// (Graph::moving_averages()) are updated by the same train op. Raises InvalidArgument if loss is not one float32
  /// element, there are no trainable variables, or the loss depends on none of them.
  TrainOp minimize(Value loss) const;
  /// Only these variables, by full name. Raises InvalidArgument also if one does not exist or is not trainable.
  TrainOp minimize(Value loss, const std::vector<std::string>& variables) const;

  /// This optimizer with gradients clipped before they are applied: `nn::adam().clip_by_global_norm(1).minimize(loss)`.
  /// Each element between -limit and limit.
  Optimizer clip_by_value(double limit) const;
  /// Each variable's gradient g times min(1, limit / |g|), where |g| is its Euclidean norm.
  Optimizer clip_by_norm(double limit) const;
  /// All gradients times min(1, limit / n), where n is the Euclidean norm of all of them together. Source: Pascanu,
  /// Mikolov, Bengio, "On the difficulty of training recurrent neural networks" (ICML 2013).
  ///
  /// Norms are taken over the variables of one minimize(). Where a norm is NaN, gradients are left as they are, so that the
  /// NaN is seen; where it is infinite, they become 0 (and NaN where they were infinite).
  /// All three raise InvalidArgument unless limit is finite and > 0, or if the optimizer clips already.
  Optimizer clip_by_global_norm(double limit) const;

  const std::string& name() const { return name_; }
  const UpdateRule& rule() const { return rule_; }
  const LearningRate& learning_rate() const { return learning_rate_; }

 private:
  enum class Clip : uint8_t { kNone, kValue, kNorm, kGlobalNorm };
  Optimizer clipped(Clip clip, std::string_view how, double limit) const;
  void add_clipping(TrainOp& op) const;

  std::string name_;
  UpdateRule rule_;
  LearningRate learning_rate_;
  Clip clip_ = Clip::kNone;
  double clip_limit_ = 0;
};

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;    ///< in [0, 1); 0: none, and no slot
  bool nesterov = false;  ///< needs momentum > 0
};
/// w -= rate * g; with momentum a = momentum * a + g, w -= rate * a (Nesterov: w -= rate * (g + momentum * a)).
/// Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum" (ICML 2013).
Optimizer sgd(SgdOptions options = {});

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;  ///< >= 0
  double epsilon = 1e-7;             ///< >= 0; not both 0
};
/// s += g^2; w -= rate * g / (sqrt(s) + epsilon). Source: Duchi, Hazan, Singer (JMLR 2011).
Optimizer adagrad(AdagradOptions options = {});

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;     ///< in [0, 1)
  double beta2 = 0.999;   ///< in [0, 1)
  double epsilon = 1e-7;  ///< > 0; added to sqrt(v) before correction ("epsilon hat" in the paper)
};
/// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon), t = updates of this variable so far, from 1.
/// Source: Kingma, Ba, "Adam: a method for stochastic optimization" (ICLR 2015), the form at the end of section 2.
Optimizer adam(AdamOptions options = {});

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;          ///< in [0, 1)
  double beta2 = 0.999;        ///< in [0, 1)
  double epsilon = 1e-7;       ///< > 0; as Adam's
  double weight_decay = 0.01;  ///< >= 0
};
/// w = (1 - rate * weight_decay) * w, then Adam's step. To spare biases from decay, group() two train ops over parts of the
/// variables. Source: Loshchilov, Hutter, "Decoupled weight decay regularization" (ICLR 2019).
Optimizer adamw(AdamWOptions options = {});

struct RmsPropOptions {
  LearningRate learning_rate = 0.001;
  double decay = 0.9;     ///< of the mean of squares, in [0, 1)
  double momentum = 0;    ///< in [0, 1); 0: none, and no slot
  double epsilon = 1e-7;  ///< > 0
  bool centered = false;  ///< divide by the standard deviation instead; one more slot
};
/// s = decay * s + (1 - decay) * g^2; w -= rate * g / (sqrt(s) + epsilon); with momentum a = momentum * a + g / (sqrt(s) +
/// epsilon), w -= rate * a; centered: m = decay * m + (1 - decay) * g, and s - m^2 in the place of s.
/// Source: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning" (2012); centered: Graves, "Generating
/// sequences with recurrent neural networks" (2013).
Optimizer rmsprop(RmsPropOptions options = {});

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;  ///< >= 0; not 0 where l2 and beta are
  double l1 = 0;                     ///< >= 0; above 0, weights that matter little are exactly 0
  double l2 = 0;                     ///< >= 0; pulls the weights themselves
  double l2_shrinkage = 0;           ///< >= 0; adds 2 * l2_shrinkage * w to the gradient, not to its squares
  double beta = 0;                   ///< >= 0; added to sqrt(s): smaller first steps
};
/// s' = s + g^2; z += g + 2 * l2_shrinkage * w - (sqrt(s') - sqrt(s)) / rate * w; s = s';
/// w = 0 where |z| <= l1, else (sign(z) * l1 - z) / ((sqrt(s) + beta) / rate + 2 * l2). A rate of 0 changes nothing.
/// Source: McMahan et al., "Ad click prediction: a view from the trenches" (KDD 2013), in TensorFlow's form (twice the l2).
Optimizer ftrl(FtrlOptions options = {});

struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;          ///< in [0, 1)
  double beta2 = 0.999;        ///< in [0, 1)
  double epsilon = 1e-6;       ///< > 0; added to sqrt(v) after correction
  double weight_decay = 0.01;  ///< >= 0
};
/// m, v as Adam's; r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w;
/// w -= rate * |w| / |r| * r, norms over the variable (their ratio counts as 1 where either is 0).
/// Source: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes" (ICLR 2020), algorithm 2.
Optimizer lamb(LambOptions options = {});

/// By name, case-sensitive: "SGD", "Adagrad", "Adam", "AdamW", "RMSProp", "Ftrl", "LAMB", with the defaults above unless a
/// learning rate is given. InvalidArgument listing the names if there is none of that name.
Result<Optimizer> make_optimizer(std::string_view name, std::optional<LearningRate> learning_rate = std::nullopt);
/// The names that make_optimizer() knows.
std::vector<std::string> optimizer_names();

}  // namespace shoal::nn
