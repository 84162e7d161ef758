// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include "shoal/data/record_files.h"
#include "shoal/data/tf_example.h"

namespace mnist {

void write_records(const Images& images, const std::string& path) {
  auto writer = shoal::value_or_raise(shoal::data::TfRecordWriter::create(path));
  const auto labels = images.labels.as<int64_t>();
  const size_t bytes = images.pixels.bytes() / labels.size();
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto image = shoal::Tensor::of<uint8_t>({28, 28, 1}, images.pixels.as<uint8_t>().subspan(i * bytes, bytes));
    shoal::value_or_raise(
        writer.append(shoal::data::make_tf_example({{"image_raw", image}, {"label", shoal::Tensor::scalar(labels[i])}})));
  }
  shoal::value_or_raise(writer.finish());
}

shoal::data::Dataset read_records(const std::string& path, bool shuffled) {
  const auto parse =
      shoal::data::tf_examples({.features = {{.name = "image_raw", .dtype = shoal::DType::kUInt8, .shape = {28, 28, 1}},
                                             {.name = "label", .dtype = shoal::DType::kInt64}},
                                .labels = {"label"}});
  shoal::data::Dataset records = shoal::data::Dataset::tf_records({path});
  if (shuffled) records = records.shuffle(60000);
  // The model expects a single tensor instead of named features.
  return records.map(parse).map([](shoal::data::Element one) {
    one.features = shoal::data::TensorMap(one.features["image_raw"]);
    return one;
  });
}

}  // namespace mnist
