// SPDX-License-Identifier: Apache-2.0
// Dataset::fingerprint(): every option that changes elements, their order or positions makes another pipeline, whose
// positions and files of cache() are refused.
#include <map>

#include "collecting.h"

namespace shoal::data {
namespace {

/// Expects that no two of these datasets have the same fingerprint.
void expect_differ(const std::vector<std::pair<std::string, Dataset>>& datasets) {
  std::map<uint64_t, std::string> seen;
  for (const auto& [name, dataset] : datasets) {
    const auto [other, fresh] = seen.emplace(dataset.fingerprint(), name);
    EXPECT_TRUE(fresh) << name << " has the fingerprint of " << other->second;
  }
}

TEST(Fingerprint, TellsCsvOptionsApart) {
  const CsvOptions base{
      .columns = {{"a", DType::kFloat32}, {"b"}, {"l", DType::kFloat32}}, .labels = {"l"}, .header_lines = 1};
  const auto with = [&base](const std::string& name, const std::function<void(CsvOptions&)>& change) {
    CsvOptions options = base;
    change(options);
    return std::pair(name, Dataset::csv({"x.csv"}, options));
  };
  expect_differ({
      with("base", [](CsvOptions&) {}),
      with("name", [](CsvOptions& o) { o.columns[1].name = "c"; }),
      with("dtype", [](CsvOptions& o) { o.columns[0].dtype = DType::kInt64; }),
      with("missing 0", [](CsvOptions& o) { o.columns[0].missing = "0"; }),
      with("missing 1", [](CsvOptions& o) { o.columns[0].missing = "1"; }),
      with("header A", [](CsvOptions& o) { o.columns[0].header = "A"; }),
      with("header B", [](CsvOptions& o) { o.columns[0].header = "B"; }),
      with("header A of another column", [](CsvOptions& o) { o.columns[1].header = "A"; }),
      with("repeated", [](CsvOptions& o) { o.columns[0].repeated = true; }),
      with("repeated, another column", [](CsvOptions& o) { o.columns[1].repeated = true; }),
      with("order", [](CsvOptions& o) { std::swap(o.columns[0], o.columns[1]); }),
      with("labels", [](CsvOptions& o) { o.labels = {}; }),
      with("unused", [](CsvOptions& o) { o.unused = {"b"}; }),
      with("separator", [](CsvOptions& o) { o.separator = ';'; }),
      with("header_lines", [](CsvOptions& o) { o.header_lines = 2; }),
      with("by_position", [](CsvOptions& o) { o.by_position = true; }),
      with("missing_text", [](CsvOptions& o) { o.missing_text = "?"; }),
      with("trim_blanks", [](CsvOptions& o) { o.trim_blanks = true; }),
      with("quoting", [](CsvOptions& o) { o.quoting = false; }),
      with("missing_labels", [](CsvOptions& o) { o.missing_labels = true; }),
  });
}

TEST(Fingerprint, TellsJsonFieldsApart) {
  const auto with = [](const std::string& name, JsonField field, std::vector<std::string> labels = {}) {
    JsonLinesOptions options{.fields = {{.name = "z"}, std::move(field)}, .labels = std::move(labels)};
    return std::pair(name, Dataset::json_lines({"x.jsonl"}, options));
  };
  const DType real = DType::kFloat32;
  expect_differ({
      with("base", {.name = "a", .dtype = real}),
      with("name", {.name = "b", .dtype = real}),
      with("label", {.name = "a", .dtype = real}, {"a"}),
      with("dtype", {.name = "a", .dtype = DType::kInt64}),
      with("shape 2", {.name = "a", .dtype = real, .shape = {2}}),
      with("shape 2, 3", {.name = "a", .dtype = real, .shape = {2, 3}}),
      with("variable", {.name = "a", .dtype = real, .variable = true}),
      with("path", {.name = "a", .dtype = real, .path = "q.a"}),
      with("missing 0", {.name = "a", .dtype = real, .missing = Tensor::scalar(0.0f)}),
      with("missing 1", {.name = "a", .dtype = real, .missing = Tensor::scalar(1.0f)}),
  });
}

TEST(Fingerprint, TellsOtherSourcesApart) {
  const auto slices = [](DType dtype, const Shape& shape) {
    return Dataset::from_tensor_slices({{"a", Tensor(dtype, shape)}});
  };
  expect_differ({
      {"lines", Dataset::text_lines({"x"})},
      {"another file", Dataset::text_lines({"y"})},
      {"two files", Dataset::text_lines({"x", "y"})},
      {"header", Dataset::text_lines({"x"}, {.header_lines = 1})},
      {"tf_records", Dataset::tf_records({"x"})},
      {"npy_rows", Dataset::npy_rows({"x"})},
      {"record_bytes 4", Dataset::fixed_length_records({"x"}, {.record_bytes = 4})},
      {"record_bytes 8", Dataset::fixed_length_records({"x"}, {.record_bytes = 8})},
      {"header_bytes", Dataset::fixed_length_records({"x"}, {.record_bytes = 4, .header_bytes = 4})},
      {"footer_bytes", Dataset::fixed_length_records({"x"}, {.record_bytes = 4, .footer_bytes = 4})},
      {"tar", Dataset::tar_samples({"x"})},
      {"tar jpg", Dataset::tar_samples({"x"}, {.extensions = {"jpg"}})},
      {"tar png", Dataset::tar_samples({"x"}, {.extensions = {"png"}})},
      {"list_files", Dataset::list_files("a")},
      {"list_files in order", Dataset::list_files("a", {.shuffle = false})},
      {"list_files with a seed", Dataset::list_files("a", {.seed = 1})},
      {"other patterns", Dataset::list_files("b")},
      {"slices", slices(DType::kFloat32, {3})},
      {"more slices", slices(DType::kFloat32, {4})},
      {"slices of another shape", slices(DType::kFloat32, {3, 2})},
      {"slices of another type", slices(DType::kInt64, {3})},
      {"range", Dataset::range(10)},
      {"range from 1", Dataset::range(1, 10)},
      {"range by 2", Dataset::range(0, 10, 2)},
  });
}

TEST(Fingerprint, TellsStagesApart) {
  const Dataset range = Dataset::range(10);
  const MapFn same = [](Element element) -> Result<Element> { return element; };
  const auto two = [](const Element&) -> Result<Dataset> { return Dataset::range(2); };
  const auto length = [](const Element&) -> Result<int64_t> { return 1; };
  const auto seven = [](int64_t value) { return std::map<std::string, Tensor>{{"features", Tensor::scalar(value)}}; };
  expect_differ({
      {"range", range},
      {"batch 2", range.batch(2)},
      {"batch 3", range.batch(3)},
      {"batch, drop_remainder", range.batch(2, {.drop_remainder = true})},
      {"padded_batch", range.padded_batch(2)},
      {"padded_batch, multiple_of", range.padded_batch(2, {.multiple_of = 4})},
      {"padded_batch, sizes", range.padded_batch(2, {.sizes = {{"features", {}}}})},
      {"padded_batch, value 7", range.padded_batch(2, {.values = seven(7)})},
      {"padded_batch, value 8", range.padded_batch(2, {.values = seven(8)})},
      {"window", range.window(2)},
      {"window, shift", range.window(2, {.shift = 1})},
      {"window, stride", range.window(2, {.shift = 1, .stride = 2})},
      {"window, drop_remainder", range.window(2, {.shift = 1, .drop_remainder = true})},
      {"bucket", range.bucket_by_length(length, {.boundaries = {2}, .batch_sizes = {2}})},
      {"bucket, boundaries", range.bucket_by_length(length, {.boundaries = {3}, .batch_sizes = {2}})},
      {"bucket, batch_sizes", range.bucket_by_length(length, {.boundaries = {2}, .batch_sizes = {3}})},
      {"bucket, padding",
       range.bucket_by_length(length, {.boundaries = {2}, .batch_sizes = {2}, .padding = {.drop_remainder = true}})},
      {"shuffle 3", range.shuffle(3)},
      {"shuffle 4", range.shuffle(4)},
      {"shuffle, seed 1", range.shuffle(3, {.seed = 1})},
      {"shuffle, seed 2", range.shuffle(3, {.seed = 2})},
      {"shuffle once", range.shuffle(3, {.reshuffle_each_iteration = false})},
      {"repeat", range.repeat()},
      {"repeat 2", range.repeat(2)},
      {"take", range.take(2)},
      {"skip", range.skip(2)},
      {"shard 0", range.shard(2, 0)},
      {"shard 1", range.shard(2, 1)},
      {"shard of 3", range.shard(3, 1)},
      {"enumerate", range.enumerate()},
      {"enumerate from 1", range.enumerate(1)},
      {"enumerate as q", range.enumerate(0, "q")},
      {"interleave", range.interleave(two)},
      {"interleave, cycle", range.interleave(two, {.cycle = 3})},
      {"interleave, block", range.interleave(two, {.block = 2})},
      {"interleave in any order", range.interleave(two, {.parallel = true, .deterministic = false})},
      {"flat_map", range.flat_map(two)},
      {"split, training", range.split(0.5).training},
      {"split, held out", range.split(0.5).held_out},
      {"split 0.4", range.split(0.4).training},
      {"split, seed", range.split(0.5, {.seed = 1}).training},
      {"split, key", range.split(0.5, {.key = "k"}).training},
      {"split, another key", range.split(0.5, {.key = "j"}).training},
      {"split, key and seed", range.split(0.5, {.seed = 1, .key = "k"}).training},
      {"cache", range.cache()},
      {"map", range.map(same)},
      {"map in any order", range.map(same, {.parallel = 2, .deterministic = false})},
      {"ignore_errors 3", range.map(same).ignore_errors(3)},
      {"ignore_errors 4", range.map(same).ignore_errors(4)},
      {"unbatch", range.unbatch()},
      {"concatenate", range.concatenate(range)},
      {"zip", Dataset::zip({range, range})},
      {"zip_labels", Dataset::zip_labels(range, range)},
      {"sample_from", Dataset::sample_from({range, range})},
      {"sample_from, weights", Dataset::sample_from({range, range}, {.weights = {1, 2}})},
      {"sample_from, seed", Dataset::sample_from({range, range}, {.seed = 1})},
      {"sample_from, stops", Dataset::sample_from({range, range}, {.stops_with_the_first = true})},
  });
}

/// Fingerprints of earlier versions, so that their positions and files of cache() go on fitting.
TEST(Fingerprint, OfAPipelineWithoutNewOptionsStays) {
  const CsvOptions table{.columns = {{"id", DType::kInt64}, {"x", DType::kInt64}}, .labels = {"x"}, .header_lines = 1};
  const Dataset csv = Dataset::csv({"t.csv"}, table);
  EXPECT_EQ(csv.fingerprint(), 0x0e3319ad10a8b270u);
  EXPECT_EQ(csv.shuffle(2, {.seed = 1}).batch(2).fingerprint(), 0x35499feeedbb580du);
  EXPECT_EQ(Dataset::text_lines({"t.csv"}).fingerprint(), 0x113cb03aca015f9cu);
  EXPECT_EQ(Dataset::json_lines({"t.jsonl"}, {.fields = {{.name = "id", .dtype = DType::kInt64}}}).fingerprint(),
            0x9efd43472b295e47u);
}

/// A column that is found under another name in the header is another column.
TEST(Fingerprint, ACacheOfAnotherColumnIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "old,new\n1,100\n2,200\n");
  const auto cached = [&](const char* header) {
    const CsvColumn column{.name = "x", .dtype = DType::kInt64, .header = header};
    return Dataset::csv({path}, {.columns = {column}, .header_lines = 1}).cache(folder / "cache");
  };
  for (const Element& element : cached("old").elements()) (void)element;
  const auto iterator = value_or_raise(cached("new").iterate());
  Element element;
  const Result<bool> more = iterator->next(element);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind(), ErrorKind::kFailedPrecondition);
}

}  // namespace
}  // namespace shoal::data
