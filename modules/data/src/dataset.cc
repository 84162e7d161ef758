// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "csv_record.h"
#include "json_line.h"
#include "nodes.h"
#include "positions.h"
#include "shoal/base/production.h"

namespace shoal::data {
namespace {

void require(bool condition, const std::string& sentence) {
  if (!condition) raise(invalid_argument(sentence));
}

void check_extensions(const std::vector<std::string>& extensions) {
  for (const std::string& extension : extensions) {
    const bool has_capitals = std::any_of(extension.begin(), extension.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    const bool can_be = !extension.empty() && extension.front() != '.' && extension.find('/') == std::string::npos;
    require(can_be && !has_capitals && extension != "__key__",
            "tar_samples: extensions has \"" + extension + "\"; give what follows the dot, in lower case, as \"jpg\"");
  }
}

void check_padding(const std::string& what, const PaddedBatchOptions& options) {
  require(options.multiple_of >= 1, what + ": multiple_of is " + std::to_string(options.multiple_of) + "; give 1 or more");
  for (const auto& [name, sizes] : options.sizes) {
    const bool possible = std::all_of(sizes.begin(), sizes.end(), [](int64_t one) { return one >= -1; });
    require(possible, what + ": sizes of " + name + " has a number below -1; -1 is the largest of the batch");
  }
  for (const auto& [name, value] : options.values) {
    require(value.shape() == Shape{},
            what + ": the value of " + name + " has the shape " + to_string(value.shape()) + "; give a scalar");
  }
}

}  // namespace

uint64_t fingerprint_of(const Node& node) {
  const Node::Inputs& inputs = node.inputs();
  RandomKey key = 0;
  if (inputs.size() == 1) {
    key = fingerprint_of(*inputs[0]);
  } else {
    for (const NodePtr& input : inputs) key = fold_in(key, fingerprint_of(*input));
  }
  return node.fold_parameters(key);
}

Dataset Dataset::from_tensor_slices(TensorMap features, TensorMap labels) {
  Element tensors{std::move(features), std::move(labels)};
  if (Result<void> checked = check_rows(tensors); !checked) {
    raise(std::move(checked).error().with_context("from_tensor_slices"));
  }
  return Dataset(make_slices_node(std::move(tensors)));
}

Dataset Dataset::from_tensors(TensorMap features, TensorMap labels) {
  require(!features.empty(), "from_tensors: there is no feature; give at least one tensor");
  return Dataset(make_tensors_node({std::move(features), std::move(labels)}));
}

Dataset Dataset::range(int64_t begin, int64_t end, int64_t step) {
  require(step != 0, "range: step is 0; give a positive or negative step");
  return Dataset(make_range_node(begin, end, step));
}

Dataset Dataset::from_generator(std::function<GeneratorFn()> open, GeneratorOptions options) {
  require(bool(open), "from_generator: the function is empty");
  const auto open_at = [open = std::move(open)](int64_t, const StopToken&) { return open(); };
  return Dataset(make_generator_node(open_at, false, options));
}

Dataset Dataset::from_generator(std::function<GeneratorFn(StopToken)> open, GeneratorOptions options) {
  require(bool(open), "from_generator: the function is empty");
  const auto open_at = [open = std::move(open)](int64_t, const StopToken& stop) { return open(stop); };
  return Dataset(make_generator_node(open_at, false, options));
}

Dataset Dataset::from_resumable_generator(std::function<GeneratorFn(int64_t)> open_at, GeneratorOptions options) {
  require(bool(open_at), "from_resumable_generator: the function is empty");
  const auto open = [open_at = std::move(open_at)](int64_t first, const StopToken&) { return open_at(first); };
  return Dataset(make_generator_node(open, true, options));
}

Dataset Dataset::from_resumable_generator(std::function<GeneratorFn(int64_t, StopToken)> open_at,
                                          GeneratorOptions options) {
  require(bool(open_at), "from_resumable_generator: the function is empty");
  return Dataset(make_generator_node(std::move(open_at), true, options));
}

Dataset Dataset::list_files(std::vector<std::string> patterns, ListFilesOptions options) {
  require(!patterns.empty(), "list_files: there is no pattern");
  for (const std::string& pattern : patterns) require(!pattern.empty(), "list_files: a pattern is empty");
  const Dataset files(make_list_files_node(std::move(patterns)));
  return options.shuffle ? files.shuffle(INT64_MAX, {.seed = options.seed}) : files;
}

Dataset Dataset::text_lines(std::vector<std::string> paths, TextLinesOptions options) {
  require(!paths.empty(), "text_lines: there is no path");
  require(options.header_lines >= 0 && options.line_bytes_max >= 1,
          "text_lines: header_lines must not be negative, line_bytes_max must be at least 1");
  return Dataset(make_text_lines_node(std::move(paths), options));
}

Dataset Dataset::csv(std::vector<std::string> paths, CsvOptions options) {
  require(!paths.empty(), "csv: there is no path");
  if (auto checked = check_csv(options); !checked) raise(std::move(checked).error());
  if (auto checked = check_used_names(options); !checked) raise(std::move(checked).error().with_context("csv"));
  return Dataset(make_csv_node(std::move(paths), std::move(options)));
}

Dataset Dataset::tf_records(std::vector<std::string> paths, TfRecordOptions options) {
  require(!paths.empty(), "tf_records: there is no path");
  require(options.record_bytes_max >= 1,
          "tf_records: record_bytes_max is " + std::to_string(options.record_bytes_max) + "; give 1 or more");
  return Dataset(make_tf_records_node(std::move(paths), options));
}

Dataset Dataset::fixed_length_records(std::vector<std::string> paths, FixedLengthOptions options) {
  require(!paths.empty(), "fixed_length_records: there is no path");
  require(options.record_bytes >= 1 && options.header_bytes >= 0 && options.footer_bytes >= 0,
          "fixed_length_records: record_bytes must be at least 1, header_bytes and footer_bytes must not be negative");
  return Dataset(make_fixed_length_node(std::move(paths), options));
}

Dataset Dataset::tar_samples(std::vector<std::string> paths, TarOptions options) {
  require(!paths.empty(), "tar_samples: there is no path");
  require(options.member_bytes_max >= 1 && options.sample_bytes_max >= 1,
          "tar_samples: member_bytes_max and sample_bytes_max must be at least 1");
  check_extensions(options.extensions);
  return Dataset(make_tar_samples_node(std::move(paths), std::move(options)));
}

Dataset Dataset::npy_rows(std::vector<std::string> paths, NpyRowsOptions options) {
  require(!paths.empty(), "npy_rows: there is no path");
  require(options.row_bytes_max >= 1,
          "npy_rows: row_bytes_max is " + std::to_string(options.row_bytes_max) + "; give 1 or more");
  return Dataset(make_npy_rows_node(std::move(paths), options));
}

Dataset Dataset::json_lines(std::vector<std::string> paths, JsonLinesOptions options) {
  require(!paths.empty(), "json_lines: there is no path");
  if (auto checked = check_json_lines(options); !checked) raise(std::move(checked).error());
  return Dataset(make_json_lines_node(std::move(paths), std::move(options)));
}

Dataset Dataset::zip(std::vector<Dataset> inputs) {
  require(!inputs.empty(), "zip: there are no inputs");
  std::vector<NodePtr> nodes;
  for (Dataset& input : inputs) nodes.push_back(std::move(input.node_));
  return Dataset(make_zip_node(std::move(nodes)));
}

Dataset Dataset::zip_labels(Dataset features, Dataset labels) {
  return Dataset(make_zip_labels_node(std::move(features.node_), std::move(labels.node_)));
}

Dataset Dataset::sample_from(std::vector<Dataset> datasets, SampleOptions options) {
  require(!datasets.empty(), "sample_from: there are no datasets");
  if (options.weights.empty()) options.weights.assign(datasets.size(), 1);
  require(options.weights.size() == datasets.size(), "sample_from: there are " + std::to_string(datasets.size()) +
                                                         " datasets and " + std::to_string(options.weights.size()) +
                                                         " weights");
  double sum = 0;
  for (const double weight : options.weights) {
    require(weight >= 0 && std::isfinite(weight),
            "sample_from: a weight is " + std::to_string(weight) + "; give 0 or more");
    sum += weight;
  }
  require(sum > 0 && std::isfinite(sum), "sample_from: the weights are all 0, or their sum is not finite");
  std::vector<NodePtr> nodes;
  for (Dataset& dataset : datasets) nodes.push_back(std::move(dataset.node_));
  return Dataset(make_sample_node(std::move(nodes), std::move(options)));
}

Dataset Dataset::map(RandomMapFn fn, MapOptions options) const {
  require(bool(fn), "map: the function is empty");
  return Dataset(make_key_node(node_, options.seed)).map(with_key(std::move(fn)), options);
}

Dataset Dataset::filter(RandomFilterFn fn, std::optional<int64_t> seed) const {
  require(bool(fn), "filter: the function is empty");
  return Dataset(make_random_filter_node(node_, std::move(fn), seed));
}

Dataset Dataset::ignore_errors(int64_t count_max) const {
  require(count_max >= -1,
          "ignore_errors: count_max is " + std::to_string(count_max) + "; give -1 (any number), 0 or more");
  require(node_->has_errors_of_elements(),
          "ignore_errors: give it right behind a map or a filter, whose function may fail for one element");
  return Dataset(make_ignore_errors_node(node_, count_max));
}

Dataset Dataset::scan(Element initial, ScanFn fn) const {
  require(bool(fn), "scan: the function is empty");
  return Dataset(make_scan_node(node_, std::move(initial), std::move(fn)));
}

Dataset Dataset::take_while(FilterFn fn) const {
  require(bool(fn), "take_while: the function is empty");
  return Dataset(make_take_while_node(node_, std::move(fn)));
}

Dataset Dataset::flat_map(DatasetFn fn) const {
  require(bool(fn), "flat_map: the function is empty");
  const auto node_of = [fn = std::move(fn)](const Element& element) -> Result<NodePtr> {
    SHOAL_TRY(const Dataset dataset, fn(element));
    return dataset.node_;
  };
  return Dataset(make_interleave_node(node_, node_of, {.cycle = 1, .block = INT64_MAX}, "flat_map"));
}

Dataset Dataset::interleave(DatasetFn fn, InterleaveOptions options) const {
  require(bool(fn), "interleave: the function is empty");
  require(options.cycle >= 1 && options.cycle <= 4096,
          "interleave: cycle is " + std::to_string(options.cycle) + "; give 1 to 4096");
  require(options.block >= 1, "interleave: block is " + std::to_string(options.block) + "; give 1 or more");
  const auto node_of = [fn = std::move(fn)](const Element& element) -> Result<NodePtr> {
    SHOAL_TRY(const Dataset dataset, fn(element));
    return dataset.node_;
  };
  return Dataset(make_interleave_node(node_, node_of, options, "interleave"));
}

Dataset Dataset::window(int64_t size, WindowOptions options) const {
  if (options.shift == 0) options.shift = size;
  require(size >= 1 && options.shift >= 1 && options.stride >= 1,
          "window: size, shift and stride are " + std::to_string(size) + ", " + std::to_string(options.shift) + " and " +
              std::to_string(options.stride) + "; give 1 or more");
  require(size - 1 <= INT32_MAX / options.stride, "window: from its first element to its last it has more than 2^31");
  return Dataset(make_window_node(node_, size, options));
}

Dataset Dataset::bucket_by_length(LengthFn length, BucketOptions options) const {
  require(bool(length), "bucket_by_length: the function is empty");
  const auto &boundaries = options.boundaries, &sizes = options.batch_sizes;
  require(std::ranges::adjacent_find(boundaries, std::greater_equal<>()) == boundaries.end(),
          "bucket_by_length: the boundaries do not ascend");
  require(sizes.size() == 1 || sizes.size() == boundaries.size() + 1,
          "bucket_by_length: there are " + std::to_string(sizes.size()) + " batch sizes for " +
              std::to_string(boundaries.size() + 1) + " buckets; give one for each, or one for all");
  for (const int64_t size : sizes)
    require(size >= 1, "bucket_by_length: a batch size is " + std::to_string(size) + "; give 1 or more");
  check_padding("bucket_by_length", options.padding);
  return Dataset(make_bucket_node(node_, std::move(length), std::move(options)));
}

Dataset Dataset::map(MapFn fn, MapOptions options) const {
  require(bool(fn), "map: the function is empty");
  require(
      options.parallel == -1 || (options.parallel >= 1 && options.parallel <= 1024),
      "map: parallel is " + std::to_string(options.parallel) + "; give 1 to 1024, or -1 to let the stage find the number");
  if (options.parallel == 1) return Dataset(make_map_node(node_, std::move(fn)));
  return Dataset(make_parallel_map_node(node_, std::move(fn), options));
}

Dataset Dataset::filter(FilterFn fn) const {
  require(bool(fn), "filter: the function is empty");
  return Dataset(make_filter_node(node_, std::move(fn)));
}

Dataset Dataset::take(int64_t count) const {
  require(count >= -1, "take: count is " + std::to_string(count) + "; give -1 (all), 0 or more");
  return count < 0 ? *this : Dataset(make_take_node(node_, count));
}

Dataset Dataset::skip(int64_t count) const {
  require(count >= -1, "skip: count is " + std::to_string(count) + "; give -1 (all), 0 or more");
  return count == 0 ? *this : Dataset(make_skip_node(node_, count));
}

Dataset Dataset::concatenate(Dataset next) const { return Dataset(make_concatenate_node(node_, std::move(next.node_))); }

Dataset Dataset::enumerate(int64_t start, std::string name) const {
  return Dataset(make_enumerate_node(node_, start, std::move(name)));
}

Dataset Dataset::batch(int64_t size, BatchOptions options) const {
  require(size >= 1, "batch: size is " + std::to_string(size) + "; give 1 or more");
  return Dataset(make_batch_node(node_, size, options.drop_remainder));
}

Dataset Dataset::padded_batch(int64_t size, PaddedBatchOptions options) const {
  require(size >= 1, "padded_batch: size is " + std::to_string(size) + "; give 1 or more");
  check_padding("padded_batch", options);
  return Dataset(make_padded_batch_node(node_, size, std::move(options)));
}

Dataset Dataset::unbatch() const { return Dataset(make_unbatch_node(node_)); }

Dataset Dataset::repeat(int64_t count) const {
  require(count >= -1, "repeat: count is " + std::to_string(count) + "; give -1 (for ever), 0 or more");
  return Dataset(make_repeat_node(node_, count));
}

Dataset Dataset::shuffle(int64_t buffer, ShuffleOptions options) const {
  require(buffer >= 1, "shuffle: buffer is " + std::to_string(buffer) + "; give 1 or more");
  return Dataset(make_shuffle_node(node_, buffer, options));
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  require(count >= 1, "shard: count is " + std::to_string(count) + "; give 1 or more");
  require(index >= 0 && index < count, "shard: index is " + std::to_string(index) + "; give 0 to " +
                                           std::to_string(count - 1) + ", as there are " + std::to_string(count));
  return Dataset(make_shard_node(node_, count, index));
}

Split Dataset::split(double held_out, SplitOptions options) const {
  require(held_out > 0 && held_out < 1, "split: held_out is " + std::to_string(held_out) +
                                            "; give the share of elements to hold out, more than 0 and less than 1");
  const auto seed = uint64_t(options.seed);
  if (!options.key.empty()) {
    const auto side_by_key = [&](bool wants) { return make_split_by_key_node(node_, options.key, held_out, seed, wants); };
    return {.training = Dataset(side_by_key(false)), .held_out = Dataset(side_by_key(true))};
  }
  const std::string_view moving = why_elements_move(*node_);
  require(moving.empty(),
          "split: elements are held out by their positions, and a " + std::string(moving) +
              ", so that elements that are held out would be trained on as well; call split first, and shuffle "
              "or repeat what it gives for training");
  const auto side = [&](bool wants) { return Dataset(make_split_node(node_, held_out, seed, wants)); };
  return {.training = side(false), .held_out = side(true)};
}

Dataset Dataset::prefetch(int64_t count) const {
  require(count >= -1, "prefetch: count is " + std::to_string(count) + "; give -1 (automatic), 0 (off) or more");
  return count == 0 ? *this : Dataset(make_prefetch_node(node_, count));
}

Dataset Dataset::cache() const {
  require(!repeats_for_ever(),
          "cache: the dataset before it never ends, so that it would take ever more memory; put repeat() behind cache()");
  return Dataset(make_cache_node(node_));
}

Dataset Dataset::cache(std::string path, CacheOptions options) const {
  require(!path.empty(), "cache: the path is empty; name a file, or leave it out for a cache in memory");
  require(!repeats_for_ever(),
          "cache: the dataset before it never ends, so that its file would never be complete; put repeat() behind cache()");
  return Dataset(make_file_cache_node(node_, std::move(path), options, fingerprint()));
}

Elements Dataset::elements(IterateOptions options) const { return Elements(value_or_raise(iterate(std::move(options)))); }

Result<std::unique_ptr<Iterator>> Dataset::iterate(IterateOptions options) const {
  auto env = make_production_environment({});
  SHOAL_TRY(std::unique_ptr<Iterator> iterator, iterate(*env, std::move(options)));
  return make_iterator_of_its_own(std::move(env), std::move(iterator));
}

Result<std::unique_ptr<Iterator>> Dataset::iterate(Environment& env, IterateOptions options) const {
  if (options.num_trainers < 1 || options.trainer_index < 0 || options.trainer_index >= options.num_trainers) {
    return invalid_argument("iterate: trainer_index is " + std::to_string(options.trainer_index) + " of " +
                            std::to_string(options.num_trainers) + " trainers");
  }
  return make_iterator(node_, fingerprint(), env, std::move(options));
}

std::optional<Element> Dataset::typical_element(Environment& env, IterateOptions options) const {
  options.measure = false;
  const Result<std::unique_ptr<Iterator>> iterator = make_iterator(node_, fingerprint(), env, std::move(options), true);
  if (!iterator) return std::nullopt;
  Element element;
  const Result<bool> any = (*iterator)->next(element);
  return any && *any ? std::optional(std::move(element)) : std::nullopt;
}

bool Dataset::has_unseeded_random() const {
  return any_node(*node_, [](const Node& node) { return node.draws_without_seed(); });
}
bool Dataset::has_shard() const {
  return any_node(*node_, [](const Node& node) { return node.is_shard(); });
}
bool Dataset::depends_on_trainer() const {
  return has_shard() || any_node(*node_, [](const Node& node) { return node.depends_on_trainer(); });
}
bool Dataset::unseeded_random_before_shard() const {
  return any_node(*node_, [](const Node& node) { return node.is_shard() && !why_trainers_differ(node.input()).empty(); });
}
bool Dataset::overlaps_by_shuffle(const Dataset& other) const { return cut_behind_one_shuffle(*node_, *other.node_); }
std::optional<bool> Dataset::is_finite() const { return node_->is_finite(); }
bool Dataset::repeats_for_ever() const { return node_->repeats_for_ever(); }
std::optional<int64_t> Dataset::cardinality() const { return node_->cardinality(); }
uint64_t Dataset::fingerprint() const { return fingerprint_of(*node_); }

Dataset::Dataset(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

Dataset Dataset::list_files(std::initializer_list<std::string_view> patterns, ListFilesOptions options) {
  return list_files(std::vector<std::string>(patterns.begin(), patterns.end()), options);
}

}  // namespace shoal::data
