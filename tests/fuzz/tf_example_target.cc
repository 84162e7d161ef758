// SPDX-License-Identifier: Apache-2.0
// Reads a record of tf.Example by a specification that has every kind of feature. The first byte of the input says which of them a record
// may lack. What was read is written, and read again: it is the same.
#include "shoal/base/check.h"
#include "shoal/data/tf_example.h"
#include "target.h"

namespace shoal::data {
namespace {

/// Features of all kinds, of which those whose bit is set have values for records that lack them.
TfExampleOptions options_of(uint8_t bits) {
  TfExampleOptions options{.features = {{.name = "f", .dtype = DType::kFloat32, .shape = {2}},
                                        {.name = "i", .dtype = DType::kInt64},
                                        {.name = "s"},
                                        {.name = "u", .dtype = DType::kUInt8, .shape = {3}},
                                        {.name = "n", .dtype = DType::kInt32, .shape = {1}}}};
  const Tensor missing[] = {Tensor::scalar(0.5f), Tensor::scalar(int64_t(1)), Tensor::of_strings({}, {"x"}),
                            Tensor::scalar(uint8_t(9)), Tensor::scalar(int32_t(2))};
  for (size_t i = 0; i < options.features.size(); ++i) {
    if (bits >> i & 1) options.features[i].missing = missing[i];
  }
  options.features.push_back({.name = "F", .dtype = DType::kFloat32, .variable = true});
  options.features.push_back({.name = "I", .dtype = DType::kInt64, .variable = true});
  options.features.push_back({.name = "S", .variable = true});
  options.features.push_back({.name = "v", .dtype = DType::kFloat32, .shape = {4}, .positions = "p"});
  return options;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  return a.bytes() == 0 || std::memcmp(a.address(), b.address(), a.bytes()) == 0;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  TfExampleOptions options = options_of(input.take<uint8_t>());
  const Result<Element> element = parse_tf_example(input.text(), options);
  if (!element) {
    SHOAL_CHECK(element.error().kind() == ErrorKind::kDataLoss);
    fuzz::touch(element.error().message());
    return 0;
  }
  SHOAL_CHECK(element->features.size() == options.features.size());
  options.features.back().positions = {};  // It is dense now.
  const Element again = value_or_raise(parse_tf_example(make_tf_example(element->features), options));
  for (const auto& [name, tensor] : element->features) SHOAL_CHECK(same(tensor, again.features[name]));
  return 0;
}
