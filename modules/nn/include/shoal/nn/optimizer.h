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
  /// rows, each touched row as if it were a variable of its own (VariableUpdate::rows). The moving averages that layers keep
  /// (Graph::moving_averages()) are updated by the same train op. Raises InvalidArgument if loss is not one float32 element,
  /// there are no trainable variables, or the loss depends on none of them.
  TrainOp minimize(Value loss) const;
  /// Only these variables, by full name. Raises InvalidArgument also if one does not exist or is not trainable.
  TrainOp minimize(Value loss, const std::vector<std::string>& variables) const;

  const std::string& name() const { return name_; }
  const UpdateRule& rule() const { return rule_; }
  const LearningRate& learning_rate() const { return learning_rate_; }

 private:
  std::string name_;
  UpdateRule rule_;
  LearningRate learning_rate_;
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

/// By name, case-sensitive: "SGD", "Adagrad", "Adam", with the defaults above unless a learning rate is given.
/// InvalidArgument listing the names if there is none of that name.
Result<Optimizer> make_optimizer(std::string_view name, std::optional<LearningRate> learning_rate = std::nullopt);
/// The names that make_optimizer() knows.
std::vector<std::string> optimizer_names();

}  // namespace shoal::nn
