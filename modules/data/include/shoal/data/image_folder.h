// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A folder of images that has a folder for each class.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/dataset.h"

namespace shoal {
class Storage;
}  // namespace shoal

namespace shoal::data {

struct ImageFolderOptions {
  /// The classes and their order, as those of a training for its validation. Empty: every folder is a class, in byte order
  /// of the names.
  std::vector<std::string> classes = {};
};

/// The names of image files by class. Nothing of the files themselves has been read.
struct ImageFolder {
  std::vector<std::string> classes;  ///< Label i is classes[i].
  std::vector<std::string> paths;    ///< Class by class, and in a class in byte order of the names.
  std::vector<int64_t> labels;       ///< As many as paths.
  /// How many files and folders were passed over: files with other endings, folders in the folder of a class, files beside
  /// these folders, and all whose names begin with a dot. A program may warn of them.
  int64_t passed_over_count = 0;

  /// An element for each file: the feature is its path, a string scalar, and the label its class, an int64 scalar. Its
  /// order can be shuffled before any image is read:
  ///
  ///   images_by_class("train").value().dataset().shuffle(50000).map(read_images({.channels = 3}), {.parallel = 2})
  ///
  /// A position that was saved is good for the same files only, which nobody checks.
  Dataset dataset() const;
};

/// Finds the files in `folder`: those that end in .jpg, .jpeg or .png, in small or large letters, in the folders of the
/// classes. Without a storage `folder` is one of this machine. NotFound, naming the folder, where there is no such folder,
/// no class, or no image of one of the classes; InvalidArgument, naming it, for a folder that is none of options.classes,
/// and for a class that these name twice.
Result<ImageFolder> images_by_class(const std::string& folder, const ImageFolderOptions& options = {});
Result<ImageFolder> images_by_class(Storage& storage, const std::string& folder, const ImageFolderOptions& options = {});

}  // namespace shoal::data
