// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Digits as TFRecord files of tf.Example with the fields "image_raw" (a text of 28 x 28 bytes) and "label" (int64).
#include <string>

#include "images.h"

namespace mnist {

/// Writes a TFRecord file of the images. Raises the errors of TfRecordWriter.
void write_records(const Images& images, const std::string& path);

/// Reads the records of a file in their order. Each element is an image, uint8 [28, 28, 1], and a label. `shuffled`: true
/// for a new random order in each pass; records are shuffled before they are parsed.
shoal::data::Dataset read_records(const std::string& path, bool shuffled);

}  // namespace mnist
