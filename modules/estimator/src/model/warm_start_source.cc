// SPDX-License-Identifier: Apache-2.0
#include "model/warm_start_source.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "model/rules.h"
#include "shoal/base/finite.h"
#include "shoal/graph/meaning.h"
#include "shoal/graph/vocabulary.h"

namespace shoal {
namespace {

std::string type_text(DType dtype, const Shape& shape) { return std::string(to_string(dtype)) + " " + to_string(shape); }

/// Whether the source tensor has the variable's type and shape. If `by_token` (WarmStart::vocabularies maps the rows), the
/// number of rows may differ.
bool fits(const Variable& variable, const TensorType& old, bool by_token) {
  if (variable.dtype != old.dtype) return false;
  if (!by_token) return variable.shape == old.shape;
  if (variable.shape.rank() == 0 || variable.shape.rank() != old.shape.rank()) return false;
  return variable.shape == old.shape.with(0, variable.shape[0]);
}

/// Returns "; with its axes in another order it would fit: w.transposed({1, 0})", or an empty text if no order fits.
std::string transpose_that_fits(const Variable& variable, const SourceTensor& source, const Shape& old) {
  std::vector<int64_t> axes(size_t(old.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (old.rank() != variable.shape.rank() || old.rank() > 5) return {};
  while (std::ranges::next_permutation(axes).found) {
    bool same = true;
    for (int axis = 0; axis < old.rank(); ++axis) same = same && old[int(axes[size_t(axis)])] == variable.shape[axis];
    if (same) return "; with its axes in another order it would fit: " + to_string(source.transposed(axes));
  }
  return {};
}

Result<void> check_row_count(const std::string& name, std::string_view side, int64_t rows, size_t tokens) {
  if (int64_t(tokens) <= rows) return {};
  return invalid_argument("vocabularies: " + name + ": " + std::string(side) + " are " + std::to_string(tokens) +
                          ", for a variable of " + std::to_string(rows) + " rows");
}

Result<std::vector<int64_t>> old_rows_of(const VocabularyChange& change) {
  SHOAL_TRY(const Vocabulary old, Vocabulary::make(change.old_tokens));
  std::vector<int64_t> rows;
  for (const std::string& token : change.new_tokens) rows.push_back(old.find(token));
  return rows;
}

/// A Meaning lists facts about what a model's numbers stand for, such as its vocabularies. Returns those in `meaning` that
/// are about inputs, without those about heads, labels and predictions.
Meaning of_inputs(const Meaning& meaning) {
  Meaning inputs;
  for (const auto& [key, facts] : meaning.facts()) {
    if (key.starts_with("head") || key.starts_with("labels") || key.starts_with("prediction")) continue;
    for (const MeaningFact& fact : facts) inputs.add(key, fact);
  }
  return inputs;
}

/// Warns if the source was trained with other vocabularies or classes than the model has. Compares those of heads, labels
/// and predictions only if all trainable variables start from the source. Logs nothing if the user has set
/// WarmStart::vocabularies: the user then knows of the difference, and each token's row is copied to the token's new index.
void tell_of_meaning(Logger& log, const WarmStart& start, const checkpoint::Reader& reader, const Graph& graph,
                     const std::vector<WarmStartedVariable>& chosen) {
  const Result<Meaning> origin = Meaning::decode(reader.manifest().info.meaning);
  if (!origin || !start.vocabularies.empty()) return;
  const auto is_trained = [](const WarmStartedVariable& one) { return one.variable->trainable; };
  const bool all =
      std::ranges::count_if(chosen, is_trained) == std::ranges::count_if(graph.variables(), &Variable::trainable);
  const Meaning& present = graph.meaning();
  const Meaning compared = all ? present : of_inputs(present);
  if (const auto difference = meaning_difference(*origin, compared, MeaningScope::kPart)) {
    log.warning("warm start from " + start.from +
                ": the model there has another meaning, and variables are taken as they are: " + *difference +
                "; WarmStart::vocabularies moves rows with their words");
  }
}

/// Warns if the source was trained with other versions of the user's own ops. This is no error, since the user may choose
/// such a source on purpose.
void tell_of_ops(Logger& log, const WarmStart& start, const checkpoint::Reader& reader, const Graph& graph) {
  const std::string difference = op_version_difference(reader.manifest().info.rules, graph);
  if (difference.empty()) return;
  log.warning("warm start from " + start.from +
              ": the weights there were trained with other ops, and are taken as they are: " + difference);
}

/// Returns a text such as "3 of the 5 rows of dense/table".
std::string row_text(const Variable& variable, const std::vector<int64_t>& old_rows) {
  const auto copied = std::count_if(old_rows.begin(), old_rows.end(), [](int64_t row) { return row >= 0; });
  return std::to_string(copied) + " of the " + std::to_string(variable.shape[0]) + " rows of " + variable.name;
}

/// Returns a text such as "variable out/kernl, from which out/kernel is to start".
std::string missing_text(const std::string& noun, const std::string& name, const std::string& variable) {
  return noun + " " + name + ", from which " + variable + " is to start";
}

/// Checks that the source has every tensor from which a variable is to start. The error lists all missing tensors, so that
/// a user who loads a file of another program sees at once which names to map.
Result<void> check_names(const WarmStartOrigin& origin, const std::vector<WarmStartedVariable>& chosen) {
  std::string missing;
  for (const WarmStartedVariable& one : chosen) {
    for (const std::string& name : names_in(one.source)) {
      SHOAL_TRY(const auto found, origin.find(name));
      if (!found)
        missing.append(missing.empty() ? "" : ", no ").append(missing_text(origin.noun(), name, one.variable->name));
    }
  }
  if (missing.empty()) return {};
  return invalid_argument(origin.title() + " has no " + missing + "; there are: " + listed(origin.names()) +
                          (origin.checkpoint()
                               ? ""
                               : "; map variables of the model to these names by WarmStart::layers or names, or "
                                 "choose fewer of them by variables (std::nullopt: only mapped ones)"));
}

/// Refuses a layer whose source has a tensor, such as a bias, that the model leaves out: the layer would compute something
/// else than in the source.
Result<void> check_without_variable(const WarmStartOrigin& origin, const WarmStartedVariables& chosen) {
  for (const auto& [variable, source] : chosen.without_variable) {
    for (const std::string& name : names_in(source)) {
      SHOAL_TRY(const auto found, origin.find(name));
      if (!found) continue;
      return invalid_argument("layers: " + origin.title() + " has " + origin.noun() + " " + name +
                              ", and the model has no variable " + variable +
                              " for it; build the layer with it, or map the layer's other variables by names");
    }
  }
  return {};
}

constexpr size_t kUnusedNamed = 10;

/// Lists the source's tensors that no variable starts from, so that a user notices a forgotten layer: "; nothing starts
/// from bn.num_batches_tracked".
std::string unused_text(const WarmStartOrigin& origin, const std::vector<WarmStartedVariable>& chosen) {
  std::set<std::string> used;
  for (const WarmStartedVariable& one : chosen) used.merge(names_in(one.source));
  std::vector<std::string> unused;
  for (const std::string& name : origin.names()) {
    if (!used.contains(name)) unused.push_back(name);
  }
  if (unused.empty()) return {};
  const size_t more = unused.size() - std::min(unused.size(), kUnusedNamed);
  unused.resize(unused.size() - more);
  return "; nothing starts from " + listed(unused) + (more > 0 ? " and " + std::to_string(more) + " others" : "");
}

}  // namespace

Result<std::unique_ptr<WarmStartSource>> WarmStartSource::open(Environment& env, const WarmStart& start, const Graph& graph,
                                                               const InitialValues& values, Mode mode) {
  SHOAL_TRY(const WarmStartedVariables chosen, choose_warm_started(start, graph, mode));
  const std::string where = "warm start from " + start.from;
  auto origin = WarmStartOrigin::open(env, start.from);
  if (!origin) return std::move(origin).error().with_context(where);
  if (const checkpoint::Reader* reader = (*origin)->checkpoint()) {
    tell_of_meaning(env.log(), start, *reader, graph, chosen.variables);
    tell_of_ops(env.log(), start, *reader, graph);
  }
  std::unique_ptr<WarmStartSource> source(new WarmStartSource(env.log(), std::move(origin).value(), values));
  if (auto taken = source->take(chosen, graph, mode); !taken) return std::move(taken).error().with_context(where);
  return source;
}

Result<void> WarmStartSource::take(const WarmStartedVariables& chosen, const Graph& graph, Mode mode) {
  SHOAL_TRY_VOID(check_names(*origin_, chosen.variables));
  SHOAL_TRY_VOID(check_without_variable(*origin_, chosen));
  std::string by_token;
  for (const WarmStartedVariable& one : chosen.variables) {
    SHOAL_TRY(Start begin, start_of(one));
    if (begin.old_rows) by_token.append(", ").append(row_text(*one.variable, *begin.old_rows));
    starts_.emplace(one.variable->name, std::move(begin));
  }
  const checkpoint::Reader* reader = origin_->checkpoint();
  summary_ = "warm start: " + std::to_string(chosen.variables.size()) + " of " + std::to_string(graph.variables().size()) +
             " variables start from " + origin_->title() +
             (reader ? " of global step " + std::to_string(reader->global_step()) : "") + by_token;
  if (!reader && mode == Mode::kTrain) summary_ += unused_text(*origin_, chosen.variables);
  return {};
}

Result<WarmStartSource::Start> WarmStartSource::start_of(const WarmStartedVariable& chosen) const {
  const Variable& variable = *chosen.variable;
  const auto type_of = [this](const std::string& name) -> Result<TensorType> {
    SHOAL_TRY(const auto found, origin_->find(name));
    return *found;
  };
  auto old = source_type(chosen.source, type_of);
  if (!old) return std::move(old).error().with_context("variable " + variable.name + " in " + origin_->title());
  if (!fits(variable, *old, chosen.vocabulary != nullptr)) {
    const std::string text = to_string(chosen.source);
    return invalid_argument("variable " + variable.name + " is " + type_text(variable.dtype, variable.shape) +
                            " in the model, and " + type_text(old->dtype, old->shape) + " in " + origin_->title() +
                            (text == variable.name ? "" : ", as " + text) +
                            transpose_that_fits(variable, chosen.source, old->shape));
  }
  Start start{.source = chosen.source};
  if (!chosen.vocabulary) return start;
  const VocabularyChange& change = *chosen.vocabulary;
  const int64_t old_rows = old->shape.rank() == 0 ? 1 : old->shape[0];
  SHOAL_TRY_VOID(check_row_count(variable.name, "new_tokens", variable.shape[0], change.new_tokens.size()));
  SHOAL_TRY_VOID(check_row_count(variable.name, "old_tokens", old_rows, change.old_tokens.size()));
  SHOAL_TRY(start.old_rows, old_rows_of(change));
  start.backup_initializer = change.backup_initializer;
  return start;
}

bool WarmStartSource::holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const {
  return arena == 0 && starts_.contains(segment.variable.name);
}

Result<void> WarmStartSource::read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) {
  SHOAL_CHECK(holds(segment, arena));
  const Start& start = starts_.find(segment.variable.name)->second;
  Result<void> done = start.old_rows ? read_by_token(start, segment, out) : read_rows(start, segment, out);
  if (!done) return std::move(done).error().with_context("warm start of variable " + segment.variable.name);
  tell_of_non_finite(start, segment, out);
  return done;
}

/// Training would later say only that its loss is not finite. A float64 beyond float32's range is infinity by now.
void WarmStartSource::tell_of_non_finite(const Start& start, const cluster::Segment& segment,
                                         std::span<const std::byte> values) const {
  if (segment.variable.dtype != DType::kFloat32) return;
  int64_t count = 0;
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, values.data() + at, sizeof value);
    count += !is_finite(value);
  }
  if (count == 0) return;
  const Shape& shape = segment.variable.shape;
  const bool is_part = shape.rank() > 0 && segment.row_end - segment.row_begin < shape[0];
  log_.warning(
      "warm start of variable " + segment.variable.name + ": " + std::to_string(count) +
      (count == 1 ? " value of " : " values of ") + to_string(start.source) + " in " + origin_->title() +
      (count == 1 ? " is no finite number" : " are not finite numbers") + " (NaN, infinity, or beyond float32)" +
      (is_part ? ", in rows " + std::to_string(segment.row_begin) + " to " + std::to_string(segment.row_end - 1) : ""));
}

Result<Tensor> WarmStartSource::whole(const Start& start) const {
  return source_value(start.source, [this](const std::string& name) { return origin_->read(name); });
}

/// Reads the rows of `segment`. Reads the whole tensor only if its layout changes, since a table may exceed the memory.
Result<void> WarmStartSource::read_rows(const Start& start, const cluster::Segment& segment,
                                        std::span<std::byte> out) const {
  if (start.source.steps().empty()) {
    return origin_->read_rows(start.source.name(), segment.row_begin, segment.row_end, out);
  }
  SHOAL_TRY(const Tensor tensor, whole(start));
  if (out.empty()) return {};
  const Shape& shape = segment.variable.shape;
  const size_t row_bytes = tensor.bytes() / size_t(shape.rank() == 0 ? 1 : shape[0]);
  std::memcpy(out.data(), tensor.view().data + size_t(segment.row_begin) * row_bytes, out.size());
  return {};
}

/// Reads the rows of `segment` of a variable for which WarmStart::vocabularies maps old rows to new ones by their tokens.
/// Reads the source's variable as a whole, since any of its rows may be needed, and since one checksum covers many rows.
Result<void> WarmStartSource::read_by_token(const Start& start, const cluster::Segment& segment,
                                            std::span<std::byte> out) const {
  const cluster::VariableSpec& variable = segment.variable;
  const int64_t rows = segment.row_end - segment.row_begin;
  if (start.backup_initializer) {
    const Initializer backup = start.backup_initializer->resolve(nn::fans_of(variable.shape), variable.shape);
    SHOAL_TRY_VOID(nn::initialize(backup, variable.key, segment.first_element(),
                                  {variable.dtype, variable.shape.with(0, rows), out.data()}));
  } else {
    SHOAL_TRY_VOID(values_.fill(segment, out));
  }
  SHOAL_TRY(const Tensor old, whole(start));
  const std::vector<int64_t>& old_rows = *start.old_rows;
  const int64_t known = std::min(segment.row_end, int64_t(old_rows.size()));
  const size_t row_bytes = rows == 0 ? 0 : out.size() / size_t(rows);
  for (int64_t row = segment.row_begin; row < known; ++row) {
    const int64_t from = old_rows[size_t(row)];
    if (from < 0) continue;
    std::memcpy(out.data() + size_t(row - segment.row_begin) * row_bytes, old.view().data + size_t(from) * row_bytes,
                row_bytes);
  }
  return {};
}

}  // namespace shoal
