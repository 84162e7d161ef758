/// Finds the values of a model that hooks ask for: values by name, and values that are computed once.
#include <cstring>

#include "model/model.h"

namespace shoal {

HookSetup BuiltModel::hook_setup() {
  NamedValues named = spec_.named_values;
  const Value loss = spec_.mode == Mode::kPredict ? Value() : spec_.loss;
  if (loss.valid()) named.emplace_back("loss", loss);
  for (const auto* more : {&spec_.predictions, &spec_.summaries}) {
    for (const auto& [name, value] : *more) {
      if (!name.empty() && value.valid()) named.emplace_back(name, value);
    }
  }
  return HookSetup(*graph_, loss, std::move(named));
}

Result<void> BuiltModel::check_named_values() const {
  for (size_t i = 0; i < spec_.named_values.size(); ++i) {
    const auto& [name, value] = spec_.named_values[i];
    if (!value.valid()) return invalid_argument("model_fn: the named value \"" + name + "\" is no value of the graph");
    for (size_t j = 0; j < i; ++j) {
      if (spec_.named_values[j].first == name)
        return invalid_argument("model_fn: two named values have the name \"" + name + "\"");
    }
  }
  return {};
}

Result<std::vector<std::pair<std::string, Tensor>>> BuiltModel::compute_once(const NamedValues& values,
                                                                             const data::Batch& batch,
                                                                             const BindVariables& bind,
                                                                             backends::StepKey key) {
  SHOAL_TRY(const SymbolSizes sizes, sizes_of(batch));
  backends::CompileOptions options{.sizes = sizes, .threads = threads_, .compute_dtype = compute_dtype_};
  for (const auto& [name, value] : values) options.fetches.push_back(value);
  BoundProgram bound;
  SHOAL_TRY(bound.program, backend_->compile(*graph_, std::move(options)));
  SHOAL_TRY_VOID(bind_sources(bound));
  SHOAL_TRY_VOID(feed(bound, batch, {}));
  SHOAL_TRY(const std::vector<backends::Pieces> variables, bind(*bound.program));
  SHOAL_TRY_VOID(
      bound.program->run({.inputs = bound.inputs, .variables = variables, .updates = {}, .weights = {1, 1}, .key = key}));
  std::vector<std::pair<std::string, Tensor>> computed;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorView& fetched = bound.program->fetched()[i];
    Tensor copy(fetched.dtype, fetched.shape);
    if (copy.bytes() > 0) std::memcpy(copy.mutable_view().data, fetched.data, copy.bytes());
    computed.emplace_back(values[i].first, std::move(copy));
  }
  return computed;
}

}  // namespace shoal
