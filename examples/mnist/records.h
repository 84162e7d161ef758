// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The digits as TFRecord files of tf.Example, as other programs have them: "image_raw", a text of 28 x 28 bytes, and "label", an int64.
#include <string>

#include "images.h"

namespace mnist {

/// Writes the file. Raises what Storage says.
void write_records(const Images& images, const std::string& path);

/// The records of a file as elements of uint8 [28, 28, 1] and a label, in the order of the file. `shuffled`: in an order that is drawn for
/// each pass, of the records as they stand in the file.
shoal::data::Dataset read_records(const std::string& path, bool shuffled);

}  // namespace mnist
