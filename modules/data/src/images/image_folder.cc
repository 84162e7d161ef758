// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/image_folder.h"

#include <algorithm>
#include <utility>

#include "shoal/base/storage.h"

namespace shoal::data {
namespace {

/// Whether `name` ends in .jpg, .jpeg or .png, in small or large letters.
bool names_an_image(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot + 1);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

/// Programs make files whose names begin with a dot: ".cache", "._photo.jpg" of macOS.
bool is_passed_over(const FileInfo& file) { return file.name.starts_with('.'); }

/// Adds the images of the class `label`, which are in the class's folder.
Result<void> add_class(Storage& storage, const std::string& folder, int64_t label, ImageFolder& found) {
  SHOAL_TRY(std::vector<FileInfo> files, storage.list(folder));
  const size_t before = found.paths.size();
  for (const FileInfo& file : files) {
    if (file.is_folder || is_passed_over(file) || !names_an_image(file.name)) {
      ++found.passed_over_count;
      continue;
    }
    found.paths.push_back(join_path(folder, file.name));
    found.labels.push_back(label);
  }
  if (found.paths.size() > before) return {};
  return not_found(folder + ": this folder of a class has no image, which is a file that ends in .jpg, .jpeg or .png");
}

Result<std::vector<std::string>> classes_in(Storage& storage, const std::string& folder, ImageFolder& found) {
  SHOAL_TRY(std::vector<FileInfo> files, storage.list(folder));
  std::vector<std::string> classes;
  for (FileInfo& file : files) {
    if (file.is_folder && !is_passed_over(file)) {
      classes.push_back(std::move(file.name));
    } else {
      ++found.passed_over_count;
    }
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

/// Checks that the folders are those of the classes that the caller names.
Result<void> check_classes(const std::string& folder, const std::vector<std::string>& folders,
                           const std::vector<std::string>& classes) {
  std::vector<std::string> sorted = classes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid_argument(folder + ": classes has \"" + *twice + "\" twice");
  for (const std::string& name : folders) {
    if (std::binary_search(sorted.begin(), sorted.end(), name)) continue;
    return invalid_argument(folder + ": the folder \"" + name + "\" is none of the " + std::to_string(classes.size()) +
                            " classes that were given");
  }
  return {};
}

}  // namespace

Dataset ImageFolder::dataset() const {
  const auto count = int64_t(paths.size());
  return Dataset::from_tensor_slices(Tensor::of_strings(Shape{count}, paths), Tensor::of<int64_t>(Shape{count}, labels));
}

Result<ImageFolder> images_by_class(const std::string& folder, const ImageFolderOptions& options) {
  return images_by_class(*make_file_storage(), folder, options);
}

Result<ImageFolder> images_by_class(Storage& storage, const std::string& folder, const ImageFolderOptions& options) {
  ImageFolder found;
  SHOAL_TRY(std::vector<std::string> folders, classes_in(storage, folder, found));
  if (folders.empty()) return not_found(folder + ": there is no folder of a class in it");
  if (!options.classes.empty()) SHOAL_TRY_VOID(check_classes(folder, folders, options.classes));
  found.classes = options.classes.empty() ? std::move(folders) : options.classes;
  for (size_t label = 0; label < found.classes.size(); ++label) {
    SHOAL_TRY_VOID(add_class(storage, join_path(folder, found.classes[label]), int64_t(label), found));
  }
  return found;
}

}  // namespace shoal::data
