// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shoal's pipelines of bench/input, and the bare loops that stand beside them as limits. peers.py has the same works by name.
#include <cstdint>
#include <map>
#include <string>

#include "shoal/data/dataset.h"

namespace shoal::bench {

struct InputOptions {
  std::string folder = {};  ///< Where make_files() wrote its files.
  int64_t batch = 64;       ///< Elements of a batch.
  int threads = 1;          ///< 1: all is done by the thread that asks for batches. 2: stages work in the background, too.
};

/// What one pass over the data went through.
struct Passed {
  int64_t elements = 0;
  int64_t bytes = 0;  ///< Of the files, or of the tensors that are in memory already.
  double sum = 0;     ///< Of all values of all elements; a text counts as the sum of its bytes.
};

using Works = std::map<std::string, data::Dataset (*)(const InputOptions&)>;
const Works& works();

/// Walks through the pipeline once. Adds all values up only if `sums` is true.
Passed pass(const std::string& work, const InputOptions& options, bool sums);

/// A bare loop over the same bytes, without Shoal's pipelines:
///
///   read          read(2) of the files of small records into one buffer
///   memcpy        copies of 64 MiB within memory
///   from_chars    std::from_chars over the table of numbers, which is in memory; the sum is that of the work numbers
///   jpeg_alone    libjpeg-turbo over the JPEG files, which are in memory; the sum is that of the work jpeg
///
/// InvalidArgument for another name, or a build without libjpeg.
Result<Passed> pass_alone(const std::string& work, const InputOptions& options, bool sums);

/// jpeg_alone; the paths are those of the files.
Result<Passed> decode_alone(const std::vector<std::string>& paths, bool sums);

/// All bytes of a file. Raises InvalidArgument where it cannot be read.
std::string bytes_of(const std::string& path);
/// The JPEG files, in byte order of their names.
std::vector<std::string> jpeg_files(const std::string& folder);

}  // namespace shoal::bench
