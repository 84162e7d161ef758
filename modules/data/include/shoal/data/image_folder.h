// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds images in a folder with one subfolder for each class.
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
  /// The classes in the order of their labels. For a validation set, pass the classes of its training set: {.classes =
  /// training.classes}. Empty: every folder is a class, in byte order of the names.
  std::vector<std::string> classes = {};
};

/// The paths of image files, and the class of each. No file has been opened.
struct ImageFolder {
  std::vector<std::string> classes;  ///< Label i is classes[i].
  std::vector<std::string> paths;    ///< Sorted by class, and within a class in byte order of the names.
  std::vector<int64_t> labels;       ///< As many as paths.
  /// The number of files and folders that were passed over: files with other endings, folders in the folder of a class,
  /// files beside these folders, and everything whose name begins with a dot. A program may warn about them.
  int64_t passed_over_count = 0;

  /// Makes a dataset with one element for each file: the feature is the path, a string scalar, and the label is the class,
  /// an int64 scalar. Paths can be shuffled before any image is read:
  ///
  ///   const ImageFolder training = value_or_raise(images_by_class("train"));
  ///   training.dataset().shuffle(50000).map(read_images({.channels = 3}), {.parallel = 2})
  ///
  /// A saved position is right only for the same files, and nothing checks that they are the same.
  Dataset dataset() const;
};

/// Finds the files that end in .jpg, .jpeg or .png, in small or large letters, in the subfolders of `folder`, one for each
/// class. Without a storage, `folder` is on this machine. NotFound, naming the folder, if there is no such folder, no
/// class, or no image of one of the classes; InvalidArgument, naming the folder, for a subfolder that is not in
/// options.classes, and for a class that occurs twice there.
Result<ImageFolder> images_by_class(const std::string& folder, const ImageFolderOptions& options = {});
Result<ImageFolder> images_by_class(Storage& storage, const std::string& folder, const ImageFolderOptions& options = {});

}  // namespace shoal::data
