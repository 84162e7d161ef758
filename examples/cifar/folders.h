// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads and writes pictures as files: a folder with the folders train and test, which have a folder for each class.
#include <string>

#include "records.h"
#include "shoal/data/image_folder.h"

namespace cifar {

/// Writes the pictures as PNG files: `folder`/<label>/<number>.png. Raises the errors of Storage.
void write_folder(const Images& images, const std::string& folder);

/// The pictures at `paths`, in the same order: uint8 [32, 32, 3] (other sizes are resized), and labels, int64.
shoal::data::Dataset read_pictures(const shoal::data::Dataset& paths);

}  // namespace cifar
