// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Input pipelines: a Dataset describes where elements come from and what happens to them; iterate() walks through them.
///
///   Dataset::from_tensor_slices(images, labels).shuffle(60000).repeat().batch(32).prefetch(2)
///
/// A mistake in the description (batch of 0) raises InvalidArgument where it is made; Iterator::next() returns errors that
/// come from outside (files, data, the user's functions).
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/base/random.h"
#include "shoal/base/std_function.h"
#include "shoal/data/element.h"
#include "shoal/data/iterator.h"
#include "shoal/data/json_lines.h"
#include "shoal/data/npy.h"
#include "shoal/data/record_files.h"
#include "shoal/data/tar_files.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

class Dataset;
class Node;

/// Writes the next element of a generator into `element`. Returns false if there are no more. May throw.
using GeneratorFn = std::function<Result<bool>(Element& element)>;
/// Makes one element from another. The function must not keep state between elements, because a resume may or may not call
/// it again for the same element. It may throw.
using MapFn = std::function<Result<Element>(Element element)>;
/// Decides whether an element stays. The function must not keep state, like a MapFn, and may throw.
using FilterFn = std::function<Result<bool>(const Element& element)>;

/// Makes one element from another with random numbers of its own. The numbers follow from the seed, the pass and the
/// element's number, so they are the same on any number of threads and after a resume. In all else a RandomMapFn is like a
/// MapFn.
using RandomMapFn = std::function<Result<Element>(Element element, RandomStream& random)>;
using RandomFilterFn = std::function<Result<bool>(const Element& element, RandomStream& random)>;
/// Makes one element from another and from a state that the stage carries from element to element. The function may throw.
using ScanFn = std::function<Result<Element>(Element& state, Element element)>;
/// Measures the length of an element. The function must not keep state, like a MapFn, and may throw.
using LengthFn = std::function<Result<int64_t>(const Element& element)>;
/// Makes a dataset from an element. A resume calls it again: equal elements must give equal datasets. May throw.
using DatasetFn = std::function<Result<Dataset>(const Element& element)>;

struct GeneratorOptions {
  /// True if the generator gives each trainer other elements, so that training without a shuffle or shard needs no warning.
  bool depends_on_trainer = false;
};
struct ListFilesOptions {
  bool shuffle = true;               ///< True: each pass shuffles all names anew. False: in byte order.
  std::optional<int64_t> seed = {};  ///< The seed of the shuffle. Unset: each trainer has a seed of its own.
};
struct MapOptions {
  /// How many calls run at once, 1 to 1024, on threads of Environment::pool(); as many elements are read ahead. 1: no
  /// threads. -1: begins with 2 calls, and doubles them when the consumer waits, up to the pool's threads, at most 16.
  int parallel = 1;
  bool deterministic = true;  ///< False: results come in the order in which they are ready.
  /// The seed of functions that draw random numbers; see ShuffleOptions::seed.
  std::optional<int64_t> seed = {};
};
struct InterleaveOptions {
  int64_t cycle = 2;  ///< How many datasets are read in turn, 1 to 4096.
  int64_t block = 1;  ///< How many elements a dataset gives at its turn, >= 1.
  /// True: each dataset is read in the background, up to `block` elements ahead, on the threads of Environment::pool(), and
  /// one dataset more than `cycle` is open.
  bool parallel = false;
  bool deterministic = true;  ///< False: a parallel dataset that has no element ready loses its turn.
};
struct WindowOptions {
  int64_t shift = 0;            ///< Elements from one window's begin to the next window's begin, >= 1. 0: the window size.
  int64_t stride = 1;           ///< A window has every `stride`-th element, >= 1.
  bool drop_remainder = false;  ///< True: windows at the end with fewer elements are dropped.
};
struct BatchOptions {
  bool drop_remainder = false;  ///< True: a smaller last batch is dropped.
};
struct PaddedBatchOptions {
  /// For each tensor, by its name, the sizes of an element's axes. Names are "features/<name>" and "labels/<name>", or
  /// "features" and "labels" for a single one. -1, and axes of tensors not named here: the largest size in the batch.
  std::map<std::string, std::vector<int64_t>> sizes = {};
  /// The padding of each tensor, by its name: a scalar of the tensor's type. Default: 0, false or "".
  std::map<std::string, Tensor> values = {};
  /// Sizes that are -1 in `sizes`, and all sizes of tensors that `sizes` does not name, are rounded up to a multiple of
  /// this number, >= 1. A model is then compiled for fewer different sizes.
  int64_t multiple_of = 1;
  bool drop_remainder = false;  ///< True: a smaller last batch is dropped.
};
struct BucketOptions {
  /// Ascending lengths. Bucket 0: below boundaries[0]; bucket i: [boundaries[i - 1], boundaries[i]); last bucket: the rest.
  std::vector<int64_t> boundaries = {};
  /// The batch size of each bucket: one number more than there are boundaries; or one number for all buckets.
  std::vector<int64_t> batch_sizes = {};
  PaddedBatchOptions padding = {};
};
struct SampleOptions {
  /// One number >= 0 for each dataset: how often it is drawn, relative to the others. Default: all are equally likely.
  std::vector<double> weights = {};
  std::optional<int64_t> seed = {};  ///< See ShuffleOptions::seed.
  /// True: the result ends when a dataset that has ended is drawn. False: the result continues with the other datasets.
  bool stops_with_the_first = false;
};
struct ShuffleOptions {
  /// Set: all trainers shuffle in the same order. Unset: each trainer has an order of its own, drawn from the seed of the
  /// RunConfig, or from a fresh seed.
  std::optional<int64_t> seed = {};
  bool reshuffle_each_iteration = true;  ///< False: every pass has the same order.
};
struct CacheOptions {
  /// True: blocks are compressed by zstd, if the build has it. A build without zstd cannot read such a file.
  bool compress = true;
};
struct SplitOptions {
  int64_t seed = 0;  ///< Another seed holds out other elements. The seed of a RunConfig has no effect.
  /// The name of a feature that tells elements apart, such as a column of ids: text, integers or float32. That
  /// feature alone then decides to which of the two results of split() an element belongs; its position does not matter.
  /// Elements stay where they are when others are added or removed, and elements with the same key (the visits of one
  /// patient) stay together. "": the position decides.
  std::string key = {};
};
struct Split;

/// Describes an input pipeline. Immutable, cheap to copy, usable on any thread. Methods return new Datasets. Each iteration
/// over a Dataset starts at its first element.
class Dataset {
 public:
  // The functions below make a dataset: of tensors, files, generators, or several other datasets.

  /// Slices along the first dimension: element i has row i of every tensor. Raises InvalidArgument if a tensor is a
  /// scalar, sizes differ or there is no feature. The tensors are shared, not copied.
  static Dataset from_tensor_slices(TensorMap features, TensorMap labels = {});
  /// A dataset of one element, which has these tensors.
  static Dataset from_tensors(TensorMap features, TensorMap labels = {});
  /// The numbers begin, begin + step, ... before end, int64 scalars. Raises InvalidArgument for step 0.
  static Dataset range(int64_t begin, int64_t end, int64_t step = 1);
  static Dataset range(int64_t end) { return range(0, end); }
  /// A dataset of the elements that a generator makes. Each pass calls `open` once. `open` returns the generator of this
  /// pass: a function that fills one element in each call, and returns false when there are no more elements.
  ///
  ///   Dataset::from_generator([] {
  ///     return [i = 0](data::Element& one) mutable -> shoal::Result<bool> {
  ///       if (i == 1000) return false;
  ///       one.features = shoal::Tensor::scalar(float(i++));
  ///       return true; }; })
  ///
  /// Cannot be resumed: save() fails with FailedPrecondition.
  static Dataset from_generator(std::function<GeneratorFn()> open, GeneratorOptions options = {});
  /// Like the function above, for a generator that is slow or may wait. The token `stop` tells it that the training was
  /// cancelled, or that no more elements are wanted. The generator then returns shoal::cancelled(), or false, and the
  /// element counts as not yet made. (A cancelled training has to wait until a generator without a token returns.)
  static Dataset from_generator(std::function<GeneratorFn(StopToken stop)> open, GeneratorOptions options = {});
  /// Refuses, at compile time, a generator in the place of the function that opens it.
  template <class F>
  requires(std::is_invocable_r_v<Result<bool>, F&, Element&>) static void from_generator(F, GeneratorOptions = {}) {
    static_assert(sizeof(F) == 0,
                  "from_generator takes a function that opens a pass and returns the generator: "
                  "[] { return [](data::Element& one) mutable -> shoal::Result<bool> { ... }; }");
  }
  /// As from_generator(), but can be resumed: open_at(n) must return a generator that starts with element n.
  static Dataset from_resumable_generator(std::function<GeneratorFn(int64_t first)> open_at, GeneratorOptions options = {});
  static Dataset from_resumable_generator(std::function<GeneratorFn(int64_t first, StopToken stop)> open_at,
                                          GeneratorOptions options = {});
  /// The names, as string scalars, of the files that match any of `patterns` (* and ? and [a-z], in any part of a path; *
  /// does not cross a slash), each name once. iterate() fails with NotFound, which quotes the patterns, if nothing matches.
  static Dataset list_files(std::vector<std::string> patterns, ListFilesOptions options = {});
  static Dataset list_files(std::initializer_list<std::string_view> patterns, ListFilesOptions options = {});
  /// One pattern, as a text of any type. (A parameter of the type std::string would compete for {"a*.csv", "b*.csv"}: a
  /// std::string can be made of two pointers.)
  template <class Pattern>
  requires std::constructible_from<std::string, const Pattern&>
  static Dataset list_files(const Pattern& pattern, ListFilesOptions options = {}) {
    return list_files(std::vector<std::string>{std::string(pattern)}, options);
  }
  /// The lines of files, one file after another, as string scalars without line ends (\n or \r\n). gzip, zstd and lz4 are
  /// recognised by a file's first bytes. Iterating ends with NotFound for a missing file, and with DataLoss (file, line and
  /// offset) for a damaged file or a line beyond the limit. Raises InvalidArgument for no paths or options out of range.
  /// A saved position is refused if the file was changed before it since (Iterator::restore()); lines may be appended.
  static Dataset text_lines(std::vector<std::string> paths, TextLinesOptions options = {});
  /// The records of CSV files (RFC 4180), one file after another: each column becomes a scalar with the column's name. A
  /// field may stand in double quotes, and then contain separators, line ends and doubled quotes; elsewhere quotes are not
  /// allowed, unless CsvOptions::quoting is off. Empty lines are passed over. Files are read as by text_lines; a record
  /// with another number of fields, or a field that is no number where one is expected, is DataLoss too. Raises
  /// InvalidArgument for no paths or options that contradict themselves.
  static Dataset csv(std::vector<std::string> paths, CsvOptions options);
  /// The records of TFRecord files, one file after another, as string scalars of any bytes. gzip, zstd and lz4 are
  /// recognised by a file's first bytes. A record is compared with its checksum, unless the record is skipped.
  /// Iterating ends with NotFound for a missing file, and with DataLoss, naming file, record and offset, for a damaged
  /// file and for a record beyond the limit. Raises InvalidArgument for no paths or options out of range.
  static Dataset tf_records(std::vector<std::string> paths, TfRecordOptions options = {});
  /// Records of `record_bytes` bytes each, one file after another, as uint8 [record_bytes]. Files are read as by
  /// tf_records; a file that ends within a record is DataLoss.
  static Dataset fixed_length_records(std::vector<std::string> paths, FixedLengthOptions options);
  /// The samples of tar archives as WebDataset has them, one archive after another. Files that stand next to each other are
  /// one sample if their names are the same up to the first dot of the last part of the path. A sample has a feature for
  /// each of its files, a string scalar of the file's bytes, whose name is the extension: what follows that dot, with the
  /// letters A to Z in lower case. The feature "__key__" has what comes before the dot. From the files train/7.jpg and
  /// train/7.seg.PNG comes {"__key__": "train/7", "jpg": ..., "seg.png": ...}.
  ///
  /// Passed over are folders, links and devices, and files that belong to no sample: those whose last part of the path has
  /// no dot, begins with a dot, or has its first dot at the end; and those whose path begins with a part like "__index__".
  /// At the end of an archive, a warning names a hard link that was passed over, since tar makes one of a file's second name.
  /// WebDataset passes over the same files, but makes samples of files in folders whose name begins with a dot, and of
  /// files whose extension is empty. A sample ends with its archive. Nothing after the first block of zeros is read, since
  /// that block is the end for tar(1) and for tarfile of Python.
  ///
  /// Archives may be of the formats ustar, pax, GNU and Version 7, and compressed by gzip, zstd or lz4, which is recognised
  /// by a file's first bytes. skip() and shard() read the headers of what they pass over and seek behind its contents,
  /// unless the file is compressed.
  ///
  /// Iterating ends with NotFound for a missing file; with DataLoss, naming archive, entry and offset, for a damaged one,
  /// for two files of one extension in a sample, for more than 4096 files in a sample, and beyond the limits of the
  /// options; and with FailedPrecondition for sparse files and for global pax headers that have a name or a size. An
  /// archive that was cut off right between two entries looks whole, and gives the samples until there. Raises
  /// InvalidArgument for no paths or options out of range.
  ///
  /// Source: the WebDataset library, version 1.0.2, functions base_plus_ext() and group_by_keys().
  static Dataset tar_samples(std::vector<std::string> paths, TarOptions options = {});
  /// The rows (along the first axis) of NPY files, one file after another, as tensors of the shape of a row and of the type
  /// that read_npy() would give. One row at a time is in memory. gzip, zstd and lz4 are recognised by a file's first bytes.
  ///
  /// Iterating ends with the errors of read_npy(), which name file and row. A bad header is found when the file is
  /// opened, as is a wrong length if the file is not compressed. Also: DataLoss for a row over options.row_bytes_max;
  /// InvalidArgument, naming both files, if their rows differ in type or shape; FailedPrecondition for an array in
  /// Fortran's order, a scalar, and rows without elements. Raises InvalidArgument for no paths or options out of range.
  static Dataset npy_rows(std::vector<std::string> paths, NpyRowsOptions options = {});
  /// The JSON objects of files with one object on each line (JSON Lines, NDJSON), one file after another: each field of
  /// the options becomes a tensor with the field's name. Files are read as by text_lines. Blank lines, and members of
  /// objects that no field names, are passed over. JsonField says which values a field takes. Iterating ends with
  /// DataLoss, naming file, line, offset and field: for a value that the field does not take; for a line that is no JSON
  /// object (RFC 8259) or nests more than 100 deep; and for an object that has a key twice. Raises InvalidArgument for no
  /// paths or options that contradict themselves.
  static Dataset json_lines(std::vector<std::string> paths, JsonLinesOptions options);
  /// Joins element i of all inputs into one element with all their features and labels. Ends with the shortest. A name that
  /// two inputs have ends iteration with InvalidArgument. Raises InvalidArgument for no inputs.
  static Dataset zip(std::vector<Dataset> inputs);
  /// Element i has the features of element i of `features`, and as labels the features of element i of `labels`. Ends with
  /// the shorter input.
  static Dataset zip_labels(Dataset features, Dataset labels);
  /// Takes each element from one of `datasets`, drawn at random. Raises InvalidArgument for no datasets, for another number
  /// of weights, and for weights that are negative, not finite, or all 0.
  static Dataset sample_from(std::vector<Dataset> datasets, SampleOptions options = {});

  // Each of the functions below returns a dataset that changes, selects or reorders the elements of this dataset.

  /// Calls `fn` on each element. Its error (or exception) ends iteration at that element's turn, and the error tells the
  /// file and line that the element was read from, or its number. A std::logic_error is InvalidArgument.
  Dataset map(MapFn fn, MapOptions options = {}) const;
  /// As map() above, for a function that draws random numbers, for example to augment pictures.
  ///
  ///   pictures.map([](Element one, RandomStream& random) { return random.below(2) ? flipped(one) : one; }, {.parallel = 4})
  Dataset map(RandomMapFn fn, MapOptions options = {}) const;
  /// The elements for which fn returns true. Errors are as map's.
  Dataset filter(FilterFn fn) const;
  /// As filter() above, for a function that draws random numbers. It is called even for skipped elements. For `seed`
  /// see ShuffleOptions::seed.
  Dataset filter(RandomFilterFn fn, std::optional<int64_t> seed = {}) const;
  /// Leaves out the elements for which the function of the map or filter right before it fails: up to `count_max` of
  /// them in each pass (-1: any number). The next error ends iteration. One warning reports the first error, and one at the
  /// end of a pass the number of errors, if it is larger than in the passes before. Raises InvalidArgument if the stage
  /// before is no map and no filter.
  Dataset ignore_errors(int64_t count_max) const;
  /// Calls `fn` on each element, with a state that begins each pass as `initial`, and whose tensors `fn` may replace or write
  /// to. Errors are as map's. Saved positions contain the state: if it takes more than 4096 bytes, save() fails with
  /// FailedPrecondition.
  ///
  ///   numbers.scan({Tensor::scalar(int64_t(0)), {}}, [](Element& sum, Element one) {
  ///     sum.features.single().mutable_as<int64_t>()[0] += one.features.single().as<int64_t>()[0];
  ///     return sum; })
  Dataset scan(Element initial, ScanFn fn) const;
  /// The elements before the first one for which fn returns false. Errors are as map's.
  Dataset take_while(FilterFn fn) const;
  /// Makes a dataset of each element by fn, and gives all elements of the first dataset, then of the second... Random
  /// operations without a seed in these datasets draw other numbers in each dataset and pass. Errors of fn are as map's.
  ///
  ///   Dataset::list_files("data/*.csv").flat_map([&](const Element& name) {
  ///     return Dataset::csv({name.features.single().strings()[0]}, table); })
  Dataset flat_map(DatasetFn fn) const;
  /// As flat_map(), but several datasets are open at once, and each gives `block` elements at its turn. When a dataset
  /// ends, its turn ends, too. At its next turn it is replaced by the dataset of the next element. If fn repeats each of
  /// the elements 1 to 5 six times, a cycle of 2 and a block of 4 give 1111 2222 11 22 3333 4444 33 44 5555 55. Raises
  /// InvalidArgument for numbers out of range.
  Dataset interleave(DatasetFn fn, InterleaveOptions options = {}) const;
  /// Windows of `size` elements, which may overlap; each is stacked along a new first dimension. Windows near the end have
  /// fewer elements, unless drop_remainder is set. range(7).window(3, {.shift = 2}): (0 1 2)(2 3 4)(4 5 6)(6). Elements of
  /// different names, types or shapes end iteration with InvalidArgument. Raises InvalidArgument for numbers out of range.
  Dataset window(int64_t size, WindowOptions options = {}) const;
  /// The first `count` elements; -1: all.
  Dataset take(int64_t count) const;
  /// All but the first `count` elements; -1: no elements. Seeks if possible, without calling functions for what it skips.
  Dataset skip(int64_t count) const;
  /// The elements of this dataset, then those of `next`.
  Dataset concatenate(Dataset next) const;
  /// Adds a feature `name` to each element: the element's number, an int64 scalar.
  Dataset enumerate(int64_t start = 0, std::string name = "index") const;
  /// Stacks each `size` consecutive elements along a new first dimension; the last batch is smaller unless dropped.
  /// Elements of different names, types or shapes end iteration with InvalidArgument. Raises InvalidArgument for size < 1.
  Dataset batch(int64_t size, BatchOptions options = {}) const;
  /// As batch, but pads elements of different sizes at the ends of their axes. For models with Estimator::vary().
  ///
  ///   sentences.padded_batch(32, {.sizes = {{"features/words", {-1}}}, .multiple_of = 16})    [32, 16], [32, 48], ...
  ///
  /// Elements whose names, types or numbers of axes differ from those of the batch's first element, and elements larger
  /// than a given size, end iteration with InvalidArgument, as do names in the options that no tensor has. Raises
  /// InvalidArgument for numbers out of range, and for values that are no scalars.
  Dataset padded_batch(int64_t size, PaddedBatchOptions options = {}) const;
  /// Batches of elements of similar lengths: elements wait in their length's bucket until it fills a batch. Rows are padded
  /// as by padded_batch. At the end, buckets give smaller batches unless padding.drop_remainder. A resume reads on from the
  /// oldest waiting element. Errors of `length` are as map's. Raises InvalidArgument for unsorted boundaries, sizes < 1.
  ///
  ///   sentences.bucket_by_length([](const Element& one) { return one.features["words"].elements(); },
  ///                              {.boundaries = {10, 20, 40}, .batch_sizes = {128, 64, 32, 16}})
  Dataset bucket_by_length(LengthFn length, BucketOptions options) const;
  /// The rows of each element, one by one: the opposite of batch.
  Dataset unbatch() const;
  /// Batches of another size: unbatch(), then batch().
  Dataset rebatch(int64_t size, BatchOptions options = {}) const { return unbatch().batch(size, options); }
  /// Repeats the dataset: `count` passes; -1: for ever; 0: none. A pass without elements is the last one.
  Dataset repeat(int64_t count = -1) const;
  /// Keeps a buffer of `buffer` elements; each output is drawn uniformly from the buffer and replaced by the next input. If
  /// the buffer is at least as large as the input, every order is equally likely. 1 changes nothing. Raises InvalidArgument
  /// for buffer < 1. A number over 2^32 - 1 counts as 2^32 - 1.
  Dataset shuffle(int64_t buffer, ShuffleOptions options = {}) const;
  /// The elements whose position modulo `count` is `index`. Call it before any shuffle. Raises InvalidArgument unless 0 <=
  /// index < count.
  Dataset shard(int64_t count, int64_t index) const;
  /// Divides the elements in two: each is held out with the probability `held_out`. The seed and the position (or key)
  /// decide, so all runs and trainers hold out the same elements. Call shuffle and repeat on the two results.
  ///
  ///   const auto [training, held_out] = Dataset::csv({file}, table).split(0.1, {.key = "id"});
  ///
  /// Without a key, elements change sides when elements before them are added or removed. With a key, an element is held
  /// out if XXH3 of the key's text (64 bits, with the seed), divided by 2^64, is less than `held_out`; the text of a number
  /// is the shortest one that reads back as the same number ("7", "0.5").
  ///
  /// Raises InvalidArgument unless 0 < held_out < 1, and, without a key, if an element may come at different positions in
  /// different passes or runs, since it could then be held out and trained on: after a shuffle (except a seeded one with
  /// reshuffle_each_iteration false), a repeat, or a map that is not deterministic. Iterating ends with InvalidArgument if
  /// the key names no feature or one that is no scalar (as after batch), and with DataLoss if an element's key is missing.
  Split split(double held_out, SplitOptions options = {}) const;
  /// Prepares the next `count` elements in the background; 0: off; -1: the stage begins with 2, and goes up to 16 while the
  /// consumer has to wait.
  Dataset prefetch(int64_t count = -1) const;
  /// Keeps the elements of the first pass in memory; later passes read them there. Until all have been read (take or zip
  /// may end a pass early), each pass reads the input's first pass again. Put it before shuffle and repeat. Raises
  /// InvalidArgument if this dataset repeats for ever; iterating ends with InvalidArgument if a dataset of a flat_map or
  /// interleave before it does. A generator that never ends is not noticed, and takes ever more memory.
  Dataset cache() const;
  /// As cache() above, in a file: writes the elements to `path`, which later passes and runs read until somebody deletes it.
  /// An unfinished file has the name `path` + ".unfinished". Its writer locks the file `path` + ".lock", which is not removed
  /// afterwards. Iterators that find it locked take their elements from the input. If the file cannot be written, the pass
  /// goes on without it, with a warning: also if `path` is a link that leads nowhere, or another file has the name of the
  /// lock. These are left as they are.
  ///
  /// Iterating ends with DataLoss, naming file and offset, for a damaged file, and with FailedPrecondition if `path` is no
  /// file of cache(), or fingerprint() shows that another pipeline wrote it. A fingerprint does not see functions, nor the
  /// options of those that Shoal makes (tf_examples(), read_images()): delete the file after changing them or the data.
  /// Trainers with different elements (shard, or a shuffle before it) need one file each. A run that resumes in its first
  /// pass reads the earlier elements again to write them; if the file was deleted or replaced meanwhile, the input begins
  /// anew, with a warning. Raises InvalidArgument for an empty path, or a dataset that never ends.
  Dataset cache(std::string path, CacheOptions options = {}) const;

  // The functions below walk through the elements of this dataset.

  /// All elements, in any program:
  ///
  ///   for (const shoal::data::Element& element : dataset.elements()) ...
  ///
  /// Files are those of this machine; warnings go to standard error. The loop has its own threads (prefetch, parallel
  /// maps), which end with it, even if it is left early. Raises the errors of iterate() and Iterator::next().
  Elements elements(IterateOptions options = {}) const;
  /// As elements(), but returns errors as values, and can save positions. Returns a new iterator at the beginning.
  Result<std::unique_ptr<Iterator>> iterate(IterateOptions options = {}) const;
  /// Returns a new iterator at the beginning, with the files, threads and log of `env`, which must outlive it
  /// (RunConfig::environment()). Sources that open files at once may fail with NotFound, DataLoss, ...
  Result<std::unique_ptr<Iterator>> iterate(Environment& env, IterateOptions options = {}) const;

  /// Tells the types of an empty dataset: returns an element with the names, types and shapes that the dataset's elements
  /// would have. The values in it have no meaning. The element is one that take, skip, shard, split, filter or
  /// drop_remainder leaves out, or it is made for from_tensor_slices without rows and for an empty range. Returns nothing
  /// if there is no such element: the generator or the file gives none, or the function of a map would get an element that
  /// a filter before it refuses. Calls functions of map and generators again.
  std::optional<Element> typical_element(Environment& env, IterateOptions options = {}) const;

  // Properties of the dataset. Progress reports use some of them. Others decide whether to warn the user that all trainers
  // may see the same elements, or that training may never end.

  /// True if a random operation (shuffle, sample_from, a map or filter that draws numbers) has no seed. It draws other
  /// numbers on each trainer. Those in the datasets that flat_map or interleave makes are not known before they are made.
  bool has_unseeded_random() const;
  bool has_shard() const;
  /// True if trainers get different elements for another reason than an unseeded random operation: shard, or GeneratorOptions.
  bool depends_on_trainer() const;
  /// True if random operations give each trainer another order, or other elements, before it takes its shard. Then some
  /// elements are in no shard, and others in several. A warning tells of such operations in the datasets that flat_map or
  /// interleave makes, when these are made.
  bool unseeded_random_before_shard() const;
  /// True if this dataset and `other` are parts (take, skip) of the same shuffled dataset, and the order of the shuffle
  /// changes with each iteration or pass. Elements of one part then appear in the other, too. Two shuffled datasets count
  /// as the same if they differ in nothing but the functions that were given to map, filter or generators.
  bool overlaps_by_shuffle(const Dataset& other) const;
  /// Whether the dataset ends; nullopt if that is not known (generators).
  std::optional<bool> is_finite() const;
  /// True if a repeat() without a count makes this dataset endless. It then ends only if that repeat's input is empty.
  bool repeats_for_ever() const;
  /// The number of elements, if it is finite and known without reading them.
  std::optional<int64_t> cardinality() const;
  /// A hash of what determines contents and order of the pipeline, except the contents of tensors and functions. A position
  /// that was saved under another fingerprint is refused.
  uint64_t fingerprint() const;

 private:
  explicit Dataset(std::shared_ptr<const Node> node);
  std::shared_ptr<const Node> node_;
};

/// The two results of Dataset::split(): each element is in exactly one of them, and both keep the order.
struct Split {
  Dataset training;
  Dataset held_out;
};

}  // namespace shoal::data
