// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pictures as files: a folder that has the folders train and test, each with a folder for every class.
#include <string>

#include "records.h"
#include "shoal/data/image_folder.h"

namespace cifar {

/// Writes the pictures as PNG files: `folder`/<label>/<number>.png. Raises what Storage says.
void write_folder(const Images& images, const std::string& folder);

/// The pictures of such a folder, in the order of their paths: uint8 [32, 32, 3], labels int64. Pictures of another size are resized.
shoal::data::Dataset read_pictures(const shoal::data::Dataset& paths);

}  // namespace cifar
