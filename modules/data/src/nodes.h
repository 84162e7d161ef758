// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that make the nodes of a dataset. Each method of Dataset calls one of them, after checking the parameters.
#include "stage.h"
#include "user_call.h"

namespace shoal::data {

using NodePtr = std::shared_ptr<const Node>;

// Defined in iterator.cc.
/// `types_only`: see StageContext.
Result<std::unique_ptr<Iterator>> make_iterator(NodePtr node, uint64_t fingerprint, Environment& env,
                                                IterateOptions options, bool types_only = false);
/// Returns `iterator`, which runs in `env`, as an iterator that owns `env`.
std::unique_ptr<Iterator> make_iterator_of_its_own(std::unique_ptr<Environment> env, std::unique_ptr<Iterator> iterator);
// Defined in sources.cc.
NodePtr make_slices_node(Element tensors);
NodePtr make_tensors_node(Element element);
NodePtr make_range_node(int64_t begin, int64_t end, int64_t step);
// Defined in generator.cc.
using OpenGenerator = std::function<GeneratorFn(int64_t first, const StopToken& stop)>;
NodePtr make_generator_node(OpenGenerator open_at, bool resumable, GeneratorOptions options);
// Defined in list_files.cc.
NodePtr make_list_files_node(std::vector<std::string> patterns);
// Defined in text_files.cc.
NodePtr make_text_lines_node(std::vector<std::string> paths, const TextLinesOptions& options);
NodePtr make_csv_node(std::vector<std::string> paths, CsvOptions options);
// Defined in record_files.cc.
NodePtr make_tf_records_node(std::vector<std::string> paths, TfRecordOptions options);
NodePtr make_fixed_length_node(std::vector<std::string> paths, FixedLengthOptions options);
// Defined in tar_samples.cc.
NodePtr make_tar_samples_node(std::vector<std::string> paths, TarOptions options);
// Defined in npy_rows.cc and json_lines.cc.
NodePtr make_npy_rows_node(std::vector<std::string> paths, const NpyRowsOptions& options);
NodePtr make_json_lines_node(std::vector<std::string> paths, JsonLinesOptions options);
// Defined in combine.cc.
NodePtr make_zip_node(std::vector<NodePtr> inputs);
NodePtr make_zip_labels_node(NodePtr features, NodePtr labels);
NodePtr make_concatenate_node(NodePtr first, NodePtr second);
// Defined in map.cc and parallel_map.cc.
/// Replaces the element of `item` by fn(element). If `fn` throws, returns the exception as an Error.
Result<void> apply(const MapFn& fn, Item& item, const StageContext& context, ElementNumber number);
NodePtr make_map_node(NodePtr input, MapFn fn);
NodePtr make_parallel_map_node(NodePtr input, MapFn fn, MapOptions options);
// Defined in select.cc.
/// Calls `fn` on the element of `item`, which stays unchanged. `what` names the function in error messages ("the function
/// of filter").
Result<bool> ask(const FilterFn& fn, Item& item, const StageContext& context, std::string_view what, ElementNumber number);
NodePtr make_filter_node(NodePtr input, FilterFn fn);
NodePtr make_take_node(NodePtr input, int64_t count);
NodePtr make_skip_node(NodePtr input, int64_t count);
NodePtr make_shard_node(NodePtr input, int64_t count, int64_t index);
NodePtr make_enumerate_node(NodePtr input, int64_t start, std::string name);
NodePtr make_take_while_node(NodePtr input, FilterFn fn);
// Defined in random_map.cc.
/// Adds a random key to each element, which with_key() removes again.
NodePtr make_key_node(NodePtr input, std::optional<int64_t> seed);
/// Returns a function for map(). It removes the random key that make_key_node() added to the element, and calls `fn` with
/// random numbers drawn from that key.
MapFn with_key(RandomMapFn fn);
NodePtr make_random_filter_node(NodePtr input, RandomFilterFn fn, std::optional<int64_t> seed);
// Defined in ignore_errors.cc, scan.cc, sample.cc and interleave.cc.
NodePtr make_ignore_errors_node(NodePtr input, int64_t count_max);
NodePtr make_scan_node(NodePtr input, Element initial, ScanFn fn);
NodePtr make_sample_node(std::vector<NodePtr> inputs, SampleOptions options);
using NodeFn = std::function<Result<NodePtr>(const Element& element)>;
/// `name`, for errors, is the name of the method of Dataset that makes the node.
NodePtr make_interleave_node(NodePtr input, NodeFn fn, InterleaveOptions options, std::string_view name);
/// Returns Dataset::fingerprint() of a node.
uint64_t fingerprint_of(const Node& node);
// Defined in split.cc and split_by_key.cc.
NodePtr make_split_node(NodePtr input, double held_out, uint64_t seed, bool wants_held_out);
NodePtr make_split_by_key_node(NodePtr input, std::string key, double held_out, uint64_t seed, bool wants_held_out);
// Defined in batch.cc and unbatch.cc.
NodePtr make_batch_node(NodePtr input, int64_t size, bool drop_remainder);
NodePtr make_padded_batch_node(NodePtr input, int64_t size, PaddedBatchOptions options);
NodePtr make_unbatch_node(NodePtr input);
// Defined in window.cc and bucket.cc.
NodePtr make_window_node(NodePtr input, int64_t size, WindowOptions options);
NodePtr make_bucket_node(NodePtr input, LengthFn length, BucketOptions options);
// Defined in repeat.cc, shuffle.cc, prefetch.cc and cache.cc.
NodePtr make_repeat_node(NodePtr input, int64_t count);
NodePtr make_shuffle_node(NodePtr input, int64_t buffer, ShuffleOptions options);
NodePtr make_prefetch_node(NodePtr input, int64_t count);
NodePtr make_cache_node(NodePtr input);
// Defined in cache_to_file.cc.
NodePtr make_file_cache_node(NodePtr input, std::string path, CacheOptions options, uint64_t fingerprint);

}  // namespace shoal::data
