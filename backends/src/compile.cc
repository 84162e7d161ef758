// SPDX-License-Identifier: Apache-2.0
/// compile_with() turns a graph into an ExecutorProgram.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "executor.h"
#include "rounded_operands.h"
#include "shoal/base/environment.h"
#include "shoal/base/names_text.h"
#include "shoal/graph/memory_plan.h"
#include "shoal/graph/op.h"
#include "shoal/graph/passes.h"
#include "shoal/graph/source.h"

namespace shoal::backends {
namespace {

using Place = Location::Place;
using Key = std::pair<int32_t, int32_t>;  // Node and output of a FlowValue, as a key of maps.

Key key_of(FlowValue value) { return {value.node, value.output}; }

class Compiler {
 public:
  Compiler(Flow flow, const CompileOptions& options, RandomKey seed)
      : flow_(std::move(flow)),
        sizes_(options.sizes),
        update_variables_(options.update_variables),
        compute_dtype_(options.compute_dtype),
        seed_(seed) {}

  Result<std::unique_ptr<Program>> compile(std::span<KernelSource* const> sources, const ExecutorOptions& executor,
                                           int threads) {
    SHOAL_TRY_VOID(resolve_types());
    place_sources();
    place_updates();
    order_steps();
    place_in_arena();
    if (executor.worth) {
      SHOAL_TRY(const NodeCost cost, cost_of_step());
      threads = executor.worth(threads, cost);
    }
    SHOAL_TRY_VOID(make_steps(sources, threads));
    SHOAL_TRY_VOID(list_bindings());
    parts_.info.numerics = executor.numerics;
    parts_.info.numerics.compute_dtype = compute_dtype_;
    parts_.threads = parts_.info.threads = threads;
    parts_.info.scratch_bytes = parts_.scratch_bytes + size_t(threads) * parts_.thread_scratch_bytes;
    parts_.set_library_threads = executor.set_library_threads;
    parts_.parallel = executor.parallel;
    parts_.denormals = executor.numerics.denormals;
    parts_.takes_applier = !update_variables_.empty() || flow_.updates.empty();
    return std::make_unique<ExecutorProgram>(std::move(parts_));
  }

 private:
  /// A planned step: a node to run, or a copy of the value `from` to `to`.
  struct Planned {
    int32_t node = -1;
    FlowValue from;
    Location to;
    /// For a copy: the index of the fetch that it serves (the memory plan sets `to` later); else -1.
    ptrdiff_t fetch = -1;
    std::vector<size_t> updates_done = {};
    std::vector<size_t> updates_to_apply = {};
    ptrdiff_t update_by_rows = -1;
  };

  const FlowNode& node_at(int32_t node) const { return flow_.nodes[size_t(node)]; }
  const TensorType& type_of(FlowValue value) const { return types_[size_t(value.node)][size_t(value.output)]; }

  /// Returns the value that owns the memory of `value`: a view has no memory of its own.
  FlowValue root(FlowValue value) const {
    while (node_at(value.node).op && node_at(value.node).op->view) value = node_at(value.node).inputs[0];
    return value;
  }
  /// Returns where a value lies that is not in the program's own memory (the arena): an input, variable or constant, or an
  /// update that a kernel writes straight to its destination. Returns null for a value in the arena.
  const Location* outside(FlowValue value) const {
    const auto found = outside_.find(key_of(root(value)));
    return found == outside_.end() ? nullptr : &found->second;
  }
  bool is_source(FlowValue value) const { return node_at(root(value).node).op == nullptr; }

  Result<TensorType> resolve(const ValueType& type) const {
    SHOAL_TRY(const Shape shape, type.shape.resolve(sizes_));
    return TensorType{type.dtype, shape};
  }

  Result<void> resolve_types() {
    for (const FlowNode& node : flow_.nodes) {
      types_.emplace_back();
      for (const ValueType& type : node.node.outputs) {
        auto resolved = resolve(type);
        if (!resolved) return std::move(resolved).error().with_context(node.node.op + " \"" + node.node.name + "\"");
        types_.back().push_back(*resolved);
      }
      if (node.op && node.op->view) SHOAL_TRY_VOID(check_view(node));
    }
    return {};
  }

  /// Returns an error for a view whose size differs from that of its operand, since a kernel would read beyond the
  /// operand's memory. The op of a user may declare such a view.
  Result<void> check_view(const FlowNode& node) const {
    const auto bytes = [](const TensorType& type) { return uint64_t(type.shape.elements()) * size_of(type.dtype); };
    const TensorType &from = type_of(node.inputs[0]), &to = types_.back()[0];
    if (bytes(from) == bytes(to)) return {};
    return invalid_argument(node.node.op + " \"" + node.node.name +
                            "\": the output of a view must have as many bytes as its operand, but " + to_string(to.shape) +
                            " and " + to_string(from.shape) + " differ");
  }

  void place_sources() {
    for (int32_t id = 0; id < int32_t(flow_.nodes.size()); ++id) {
      const Node& node = node_at(id).node;
      const Source source = source_of(node.op);
      if (source == Source::kNone) continue;
      const CompiledProgramInfo::Binding binding{node.name, types_[size_t(id)][0].dtype, types_[size_t(id)][0].shape};
      Location& at = outside_[{id, 0}];
      if (source == Source::kInput) {
        at = {Place::kInput, parts_.info.inputs.size()};
        parts_.info.inputs.push_back(binding);
      } else if (source == Source::kVariable) {
        at = {Place::kVariable, parts_.info.variables.size()};
        parts_.info.variables.push_back(binding);
      } else {
        at = {Place::kConstant, parts_.constants.size()};
        parts_.constants.push_back(node.constant);
      }
    }
  }

  /// Decides for each update how its value gets into the memory that the caller has bound for the update. As a rule the
  /// kernel that computes the value writes it there. In three cases a step copies the value there: no kernel computes it
  /// (it is an input, say); it is also a result of the run, and the caller may free the update's memory after run(); or
  /// its kernel writes it into the memory of another update already.
  void place_updates() {
    for (FlowValue fetch : flow_.fetches) fetched_roots_.insert(key_of(root(fetch)));
    for (size_t i = 0; i < flow_.updates.size(); ++i) {
      const Key value = key_of(root(flow_.updates[i]));
      if (outside_.contains(value) || fetched_roots_.contains(value)) {
        copied_updates_[value].push_back(i);
      } else {
        outside_[value] = {Place::kUpdate, i};
        direct_updates_[value] = i;
      }
    }
  }

  void add_update_copies(Key value) {
    const auto found = copied_updates_.find(value);
    if (found == copied_updates_.end()) return;
    for (size_t update : found->second) {
      Planned copy{
          .node = -1, .from = {value.first, value.second}, .to = {Place::kUpdate, update}, .updates_done = {update}};
      order_.push_back(std::move(copy));
    }
  }

  void order_steps() {
    for (int32_t id = 0; id < int32_t(flow_.nodes.size()); ++id) {
      const FlowNode& node = node_at(id);
      if (node.op && !node.op->view) order_.push_back({.node = id, .from = {}, .to = {}, .updates_done = {}});
      for (int32_t output = 0; output < int32_t(node.node.outputs.size()); ++output) add_update_copies({id, output});
    }
    // The caller may have bound memory of its own for a fetched value, and may free that memory after the run. So the last
    // steps copy such a value to the program's own memory (the arena), which keeps the copy until the next run. Earlier
    // steps can use the same part of the arena, since the copy is not written before they are done.
    for (size_t i = 0; i < flow_.fetches.size(); ++i) {
      const Location* at = outside(flow_.fetches[i]);
      if (!at || at->place == Place::kConstant) continue;
      order_.push_back({.node = -1, .from = root(flow_.fetches[i]), .to = {}, .fetch = ptrdiff_t(i), .updates_done = {}});
    }
    find_last_uses();
    // An update is reported as done after the last step that reads its value. Until then the run needs the memory of the
    // update.
    for (const auto& [value, update] : direct_updates_) {
      order_[size_t(last_use_.at(value))].updates_done.push_back(update);
    }
    for (Planned& planned : order_) std::sort(planned.updates_done.begin(), planned.updates_done.end());
    place_applications();
  }

  /// An update may be applied once it is complete and no later step reads its variable. If the variable is fetched, one of
  /// the last steps copies it, and the update is applied only after that copy. So the fetch gives the value before the
  /// update.
  void place_applications() {
    if (update_variables_.empty()) return;
    const std::map<std::string_view, int32_t> last_reads = last_reads_of_variables();
    for (int32_t step = 0; step < int32_t(order_.size()); ++step) {
      for (size_t update : order_[size_t(step)].updates_done) {
        const auto read = last_reads.find(update_variables_[update]);
        const int32_t last_read = read == last_reads.end() ? -1 : read->second;
        order_[size_t(std::max(step, last_read))].updates_to_apply.push_back(update);
        Planned& maker = order_[size_t(step)];
        const auto direct = direct_updates_.find({maker.node, 0});
        // A kernel may hand out an update row by row, but only if the update is the whole output of its step. A view of
        // the output may have other rows than the output.
        const bool is_output = direct != direct_updates_.end() && direct->second == update &&
                               flow_.updates[update] == FlowValue{maker.node, 0};
        if (is_output && last_read < step) maker.update_by_rows = ptrdiff_t(update);
      }
    }
  }

  /// The last step that reads each variable, by name; without variables that no step reads.
  std::map<std::string_view, int32_t> last_reads_of_variables() const {
    std::map<std::string_view, int32_t> last_reads;
    for (int32_t id = 0; id < int32_t(flow_.nodes.size()); ++id) {
      const Node& node = node_at(id).node;
      if (source_of(node.op) != Source::kVariable) continue;
      if (const auto last = last_use_.find({id, 0}); last != last_use_.end()) last_reads.emplace(node.name, last->second);
    }
    return last_reads;
  }

  void find_last_uses() {
    for (int32_t step = 0; step < int32_t(order_.size()); ++step) {
      const Planned& planned = order_[size_t(step)];
      auto use = [&](FlowValue value) {
        if (value.node >= 0) last_use_[key_of(root(value))] = step;
      };
      if (planned.node < 0) {
        use(planned.from);
        continue;
      }
      for (FlowValue input : node_at(planned.node).inputs) use(input);
      for (int32_t i = 0; i < int32_t(node_at(planned.node).node.outputs.size()); ++i) use({planned.node, i});
    }
  }

  void place_in_arena() {
    std::vector<PlannedValue> values;
    const auto end = int32_t(order_.size());  // Fetched values are in use beyond the last step, until the next run.
    auto bytes_of = [&](FlowValue value) {
      const TensorType& type = type_of(value);
      return size_t(type.shape.elements()) * size_of(type.dtype);
    };
    std::vector<ptrdiff_t> fetch_copies(flow_.fetches.size(), -1);
    for (int32_t step = 0; step < end; ++step) {
      const Planned& planned = order_[size_t(step)];
      if (planned.fetch >= 0) {
        fetch_copies[size_t(planned.fetch)] = ptrdiff_t(values.size());
        values.push_back({.bytes = bytes_of(planned.from), .first = step, .last = end, .may_replace = {}});
      }
      if (planned.node < 0) continue;
      for (int32_t i = 0; i < int32_t(node_at(planned.node).node.outputs.size()); ++i) {
        const FlowValue output{planned.node, i};
        if (outside_.contains(key_of(output))) continue;
        const int32_t last = fetched_roots_.contains(key_of(output)) ? end : last_use_.at(key_of(output));
        PlannedValue value{
            .bytes = bytes_of(output), .first = step, .last = last, .may_replace = replaceable(planned.node, i)};
        arena_index_[key_of(output)] = int32_t(values.size());
        values.push_back(std::move(value));
      }
    }
    const MemoryPlan plan = plan_memory(values);
    for (const auto& [value, index] : arena_index_) arena_[value] = {Place::kArena, plan.offsets[size_t(index)]};
    for (Planned& planned : order_) {
      if (planned.fetch >= 0) planned.to = {Place::kArena, plan.offsets[size_t(fetch_copies[size_t(planned.fetch)])]};
    }
    parts_.info.arena_bytes = plan.arena_bytes;
    parts_.info.lower_bound_bytes = plan.lower_bound_bytes;
  }

  /// Returns the values whose memory the output `output` of node `id` may reuse, as indices of the memory plan.
  std::vector<int32_t> replaceable(int32_t id, int32_t output) const {
    const FlowNode& node = node_at(id);
    std::vector<int32_t> result;
    for (const OpDef::InPlace& pair : node.op->in_place) {
      if (pair.output != output || size_t(pair.input) >= node.inputs.size()) continue;
      const FlowValue input = root(node.inputs[size_t(pair.input)]);
      // How often the node reads the operand. For mul(x, x) this is two, so x must not be overwritten.
      int uses = 0;
      for (FlowValue other : node.inputs) uses += other.node >= 0 && root(other) == input;
      const auto found = arena_index_.find(key_of(input));
      if (uses == 1 && found != arena_index_.end()) result.push_back(found->second);
    }
    return result;
  }

  Location location(FlowValue value) const {
    if (value.node < 0) return {};
    if (const Location* at = outside(value)) return *at;
    return arena_.at(key_of(root(value)));
  }

  /// Catches exceptions, since the cost function of a user's own op is the user's code.
  static Result<NodeCost> cost_of_node(const FlowNode& node, std::span<const TensorView> inputs,
                                       std::span<const TensorView> outputs) {
    auto cost =
        call_user("the cost of a user's own op", [&] { return cost_of(*node.op, node.node.attributes, inputs, outputs); });
    if (!cost) return std::move(cost).error().with_context(node.node.op + " \"" + node.node.name + "\"");
    return cost;
  }

  Result<NodeCost> cost_of_step() const {
    NodeCost sum;
    for (const Planned& planned : order_) {
      if (planned.node < 0) continue;
      const FlowNode& node = node_at(planned.node);
      std::vector<TensorView> inputs, outputs;
      for (const auto& unresolved : node.input_types) {
        SHOAL_TRY(const TensorType type, resolve(unresolved));
        inputs.push_back({type.dtype, type.shape, nullptr});
      }
      for (const TensorType& type : types_[size_t(planned.node)]) outputs.push_back({type.dtype, type.shape, nullptr});
      SHOAL_TRY(const NodeCost cost, cost_of_node(node, inputs, outputs));
      sum.flops += cost.flops;
      sum.bytes += cost.bytes;
    }
    return sum;
  }

  Result<void> make_steps(std::span<KernelSource* const> sources, int threads) {
    for (Planned& planned : order_) {
      Step step;
      step.updates_done = std::move(planned.updates_done);
      step.updates_to_apply = std::move(planned.updates_to_apply);
      if (planned.node < 0) {
        make_copy(planned, step);
      } else {
        SHOAL_TRY_VOID(make_kernel(planned.node, sources, threads, step));
        if (step.kernel->gives_rows()) step.update_by_rows = planned.update_by_rows;
      }
      parts_.steps.push_back(std::move(step));
    }
    return {};
  }

  void make_copy(const Planned& planned, Step& step) const {
    const TensorType& type = type_of(planned.from);
    step.name = "copy of \"" + node_at(planned.from.node).node.name + "\"";
    step.inputs.push_back({type.dtype, type.shape, nullptr});
    step.input_locations.push_back(location(planned.from));
    step.outputs.push_back({type.dtype, type.shape, nullptr});
    step.output_locations.push_back(planned.to);
  }

  Result<void> make_kernel(int32_t id, std::span<KernelSource* const> sources, int threads, Step& step) {
    const FlowNode& node = node_at(id);
    step.name = node.node.op + " \"" + node.node.name + "\"";
    std::vector<TensorType> inputs;
    const auto is_variable = std::make_unique<bool[]>(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      SHOAL_TRY(const TensorType type, resolve(node.input_types[i]));
      inputs.push_back(type);
      step.inputs.push_back({type.dtype, type.shape, nullptr});
      step.input_locations.push_back(location(node.inputs[i]));
      is_variable[i] = step.input_locations.back().place == Place::kVariable;
    }
    for (int32_t i = 0; i < int32_t(node.node.outputs.size()); ++i) {
      const TensorType& type = type_of({id, i});
      step.outputs.push_back({type.dtype, type.shape, nullptr});
      step.output_locations.push_back(location({id, i}));
    }
    const KernelRequest request{.node = node.node,
                                .inputs = inputs,
                                .outputs = types_[size_t(id)],
                                .input_is_variable = {is_variable.get(), node.inputs.size()},
                                .threads = threads,
                                .graph_seed = seed_,
                                .op = node.op};
    for (KernelSource* source : sources) {
      Result<std::unique_ptr<Kernel>> made = make_kernel(*source, request);
      if (!made) return std::move(made).error().with_context(step.name + " " + shapes_of(request));
      if ((step.kernel = std::move(made).value())) break;
    }
    if (!step.kernel) return not_found(step.name + ": no backend has a kernel for this op");
    parts_.scratch_bytes = std::max(parts_.scratch_bytes, align_up(step.kernel->scratch_bytes()));
    parts_.thread_scratch_bytes = std::max(parts_.thread_scratch_bytes, align_up(step.kernel->thread_scratch_bytes()));
    parts_.info.kept_bytes += step.kernel->kept_bytes();
    return {};
  }

  Result<std::unique_ptr<Kernel>> make_kernel(KernelSource& source, const KernelRequest& request) const {
    if (compute_dtype_ != DType::kBFloat16 || !is_float_product(request)) return source.make_kernel(request);
    SHOAL_TRY(auto native, source.make_bfloat16_kernel(request));
    if (native) return native;
    SHOAL_TRY(auto exact, source.make_kernel(request));
    return exact ? round_operands(std::move(exact), request) : nullptr;
  }

  Result<void> list_bindings() {
    for (FlowValue update : flow_.updates) {
      parts_.updates.push_back({node_at(update.node).node.name, type_of(update).dtype, type_of(update).shape});
    }
    std::map<ptrdiff_t, Location> copies;  // The key is the index of the fetch.
    for (const Planned& planned : order_) {
      if (planned.fetch >= 0) copies[planned.fetch] = planned.to;
    }
    for (size_t i = 0; i < flow_.fetches.size(); ++i) {
      const FlowValue fetch = flow_.fetches[i];
      parts_.info.fetched.push_back({node_at(fetch.node).node.name, type_of(fetch).dtype, type_of(fetch).shape});
      const auto copy = copies.find(ptrdiff_t(i));
      parts_.fetches.push_back(copy == copies.end() ? location(fetch) : copy->second);
    }
    size_t next = 0;
    for (int32_t id = 0; id < int32_t(flow_.nodes.size()); ++id) {
      const FlowNode& node = node_at(id);
      if (!node.op) continue;
      if (node.op->view) {
        parts_.info.kernels.push_back({node.node.name, node.node.op, "view", {}});
        continue;
      }
      while (!parts_.steps[next].kernel) ++next;
      Step& step = parts_.steps[next++];
      step.kernel_index = parts_.info.kernels.size();
      const std::vector<TensorView> outputs(step.outputs.begin(), step.outputs.end());
      SHOAL_TRY(const NodeCost cost, cost_of_node(node, step.inputs, outputs));
      parts_.info.kernels.push_back({node.node.name, node.node.op, step.kernel->implementation(), cost});
    }
    return {};
  }

  Flow flow_;
  const SymbolSizes& sizes_;
  const std::vector<std::string>& update_variables_;
  DType compute_dtype_;
  RandomKey seed_;
  std::vector<std::vector<TensorType>> types_;
  std::map<Key, Location> outside_;
  std::map<Key, Location> arena_;
  std::map<Key, int32_t> arena_index_;
  std::set<Key> fetched_roots_;
  std::map<Key, std::vector<size_t>> copied_updates_;
  std::map<Key, size_t> direct_updates_;
  std::map<Key, int32_t> last_use_;
  std::vector<Planned> order_;
  ExecutorProgram::Parts parts_{};
};

}  // namespace

std::string shapes_of(const KernelRequest& request) {
  const auto text = [](const TensorType& type) { return std::string(to_string(type.dtype)) + " " + to_string(type.shape); };
  return comma_separated(request.inputs, text) + " -> " + comma_separated(request.outputs, text);
}

Result<std::unique_ptr<Program>> compile_with(const Graph& graph, CompileOptions options, const ExecutorOptions& executor) {
  if (options.threads < 1)
    return invalid_argument("compile: threads must be at least 1, not " + std::to_string(options.threads));
  if (options.compute_dtype != DType::kFloat32 && options.compute_dtype != DType::kBFloat16) {
    return invalid_argument("compile: compute_dtype is " + std::string(to_string(options.compute_dtype)) +
                            "; products are float32 or bfloat16");
  }
  if (!options.update_variables.empty() && options.update_variables.size() != options.updates.size()) {
    return invalid_argument("compile: there are " + std::to_string(options.updates.size()) + " updates and " +
                            std::to_string(options.update_variables.size()) + " names of variables that they change");
  }
  for (const Value& fetch : options.fetches) {
    if (fetch.valid() && fetch.dtype() == DType::kString) {
      return invalid_argument("compile: \"" + graph.node(fetch.node()).name +
                              "\" is text, which programs do not compute with; read it from the batch instead");
    }
  }
  SHOAL_CHECK(!executor.sources.empty());
  std::vector<KernelSource*> sources = executor.sources;
  std::vector<std::unique_ptr<Backend>> lenders;
  for (const std::string& name : options.fallback) {
    SHOAL_TRY(auto lender, make_backend(name));
    KernelSource* source = lender->kernel_source();
    if (!source) return failed_precondition("backend \"" + name + "\" lends no kernels; leave it out of the fallback list");
    sources.insert(sources.end() - 1, source);
    lenders.push_back(std::move(lender));
  }
  const ThreadScope scope(executor.set_library_threads, executor.numerics.denormals);
  // simplify() calls the rewrite functions of a user's own ops, which may throw.
  SHOAL_TRY(auto simplified, call_user("the rewrites of a user's own op", [&] {
              return simplify(graph, options.fetches, options.updates, options.variables);
            }));
  SHOAL_TRY(Flow flow, std::move(simplified));
  return Compiler(std::move(flow), options, graph.seed()).compile(sources, executor, options.threads);
}

}  // namespace shoal::backends
