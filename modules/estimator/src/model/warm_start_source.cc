// SPDX-License-Identifier: Apache-2.0
#include "model/warm_start_source.h"

#include <algorithm>
#include <cstring>

#include "model/export_files.h"
#include "model/open_checkpoint.h"
#include "model/rest.h"
#include "shoal/graph/meaning.h"
#include "shoal/graph/vocabulary.h"

namespace shoal {
namespace {

/// The prefix of a checkpoint is opened as one that somebody chose: that a file of it is missing is damage.
Result<std::unique_ptr<checkpoint::Reader>> open_named(Environment& env, const std::string& prefix) {
  auto reader = checkpoint::Reader::open(env.storage(), prefix);
  if (!reader && reader.error().kind() == ErrorKind::kNotFound) return data_loss(reader.error().message());
  return reader;
}

Result<std::unique_ptr<checkpoint::Reader>> open_origin(Environment& env, const std::string& from) {
  Storage& storage = env.storage();
  if (storage.exists(from + ".index")) return open_named(env, from);
  if (storage.exists(join_path(from, kExportFile))) return open_exported_variables(storage, from);
  SHOAL_TRY(auto newest, open_checkpoint(env, from, std::nullopt));
  if (newest) return newest;
  return not_found("there is no checkpoint of that name, and no folder with checkpoints or an exported model");
}

std::string type_text(DType dtype, const Shape& shape) { return std::string(to_string(dtype)) + " " + to_string(shape); }

std::vector<std::string> variables_in(const checkpoint::Manifest& manifest) {
  std::vector<std::string> names;
  for (const checkpoint::TensorEntry& tensor : manifest.tensors) {
    if (!tensor.is_slot()) names.push_back(tensor.name);
  }
  return names;
}

/// Whether the two differ in nothing, or, where rows are moved, in nothing but their rows.
bool fits(const Variable& variable, const checkpoint::TensorEntry& old, bool by_token) {
  if (variable.dtype != old.dtype) return false;
  if (!by_token) return variable.shape == old.shape;
  if (variable.shape.rank() == 0 || variable.shape.rank() != old.shape.rank()) return false;
  return variable.shape == old.shape.with(0, variable.shape[0]);
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

/// What a meaning says of inputs alone.
Meaning of_inputs(const Meaning& meaning) {
  Meaning inputs;
  for (const auto& [key, facts] : meaning.facts()) {
    if (key.starts_with("head") || key.starts_with("labels") || key.starts_with("prediction")) continue;
    for (const MeaningFact& fact : facts) inputs.add(key, fact);
  }
  return inputs;
}

/// A warm start takes what it is told to, of a model that may mean other things on purpose: a difference is told where
/// nothing says that rows move with their words; of classes only where all that is trained starts from there.
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

/// So are versions of a user's own ops: weights that were trained with another one start here on purpose.
void tell_of_ops(Logger& log, const WarmStart& start, const checkpoint::Reader& reader, const Graph& graph) {
  const std::string difference = op_version_difference(reader.manifest().info.rest, graph);
  if (difference.empty()) return;
  log.warning("warm start from " + start.from +
              ": the weights there were trained with other ops, and are taken as they are: " + difference);
}

/// "3 of the 5 rows of dense/table"
std::string row_text(const Variable& variable, const std::vector<int64_t>& old_rows) {
  const auto copied = std::count_if(old_rows.begin(), old_rows.end(), [](int64_t row) { return row >= 0; });
  return std::to_string(copied) + " of the " + std::to_string(variable.shape[0]) + " rows of " + variable.name;
}

}  // namespace

Result<std::unique_ptr<WarmStartSource>> WarmStartSource::open(Environment& env, const WarmStart& start, const Graph& graph,
                                                               const InitialValues& values, Mode mode) {
  SHOAL_TRY(const std::vector<WarmStartedVariable> chosen, choose_warm_started(start, graph, mode));
  const std::string where = "warm start from " + start.from;
  auto reader = open_origin(env, start.from);
  if (!reader) return std::move(reader).error().with_context(where);
  // Before anybody is given a part of it, as where training goes on from a checkpoint.
  if (auto intact = (*reader)->verify(); !intact) return std::move(intact).error().with_context(where);
  tell_of_meaning(env.log(), start, **reader, graph, chosen);
  tell_of_ops(env.log(), start, **reader, graph);
  std::unique_ptr<WarmStartSource> source(new WarmStartSource(std::move(reader).value(), values));
  std::string by_token;
  for (const WarmStartedVariable& one : chosen) {
    auto origin = source->origin_of(one);
    if (!origin) return std::move(origin).error().with_context(where);
    if (origin->old_rows) by_token.append(", ").append(row_text(*one.variable, *origin->old_rows));
    source->origins_.emplace(one.variable->name, std::move(origin).value());
  }
  source->summary_ = "warm start: " + std::to_string(chosen.size()) + " of " + std::to_string(graph.variables().size()) +
                     " variables start from checkpoint " + source->reader_->prefix() + " of global step " +
                     std::to_string(source->reader_->global_step()) + by_token;
  return source;
}

Result<WarmStartSource::Origin> WarmStartSource::origin_of(const WarmStartedVariable& chosen) const {
  const Variable& variable = *chosen.variable;
  const checkpoint::TensorEntry* old = reader_->manifest().find(chosen.old_name);
  if (!old || old->is_slot()) {
    return invalid_argument("checkpoint " + reader_->prefix() + " has no variable " + chosen.old_name + ", from which " +
                            variable.name + " is to start; there are: " + listed(variables_in(reader_->manifest())));
  }
  if (!fits(variable, *old, chosen.vocabulary != nullptr)) {
    return invalid_argument("variable " + variable.name + " is " + type_text(variable.dtype, variable.shape) +
                            " in the model, and " + type_text(old->dtype, old->shape) + " in checkpoint " +
                            reader_->prefix() + (old->name == variable.name ? "" : ", as " + old->name));
  }
  Origin origin{.old_name = chosen.old_name};
  if (!chosen.vocabulary) return origin;
  const VocabularyChange& change = *chosen.vocabulary;
  SHOAL_TRY_VOID(check_row_count(variable.name, "new_tokens", variable.shape[0], change.new_tokens.size()));
  SHOAL_TRY_VOID(check_row_count(variable.name, "old_tokens", old->rows(), change.old_tokens.size()));
  SHOAL_TRY(origin.old_rows, old_rows_of(change));
  origin.backup_initializer = change.backup_initializer;
  return origin;
}

bool WarmStartSource::holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const {
  return arena == 0 && origins_.contains(segment.variable.name);
}

Result<void> WarmStartSource::read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) {
  SHOAL_CHECK(holds(segment, arena));
  const Origin& origin = origins_.find(segment.variable.name)->second;
  Result<void> done = origin.old_rows ? read_by_token(origin, segment, out)
                                      : reader_->read_rows(origin.old_name, segment.row_begin, segment.row_end, out);
  if (!done) return std::move(done).error().with_context("warm start of variable " + segment.variable.name);
  return done;
}

/// Reads the old variable whole, since any of its rows may be wanted, and a checksum covers many.
Result<void> WarmStartSource::read_by_token(const Origin& origin, const cluster::Segment& segment,
                                            std::span<std::byte> out) const {
  const cluster::VariableSpec& variable = segment.variable;
  const int64_t rows = segment.row_end - segment.row_begin;
  if (origin.backup_initializer) {
    const Initializer backup = origin.backup_initializer->resolve(nn::fans_of(variable.shape), variable.shape);
    SHOAL_TRY_VOID(nn::initialize(backup, variable.key, segment.first_element(),
                                  {variable.dtype, variable.shape.with(0, rows), out.data()}));
  } else {
    SHOAL_TRY_VOID(values_.fill(segment, out));
  }
  SHOAL_TRY(const Tensor old, reader_->read_tensor(origin.old_name));
  const std::vector<int64_t>& old_rows = *origin.old_rows;
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
