// SPDX-License-Identifier: Apache-2.0
// Folders of images by class.
#include <gmock/gmock.h>

#include "collecting.h"
#include "image_files.h"
#include "shoal/data/image_folder.h"
#include "shoal/data/images.h"

namespace shoal::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImageFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"dog/b.JPG", "dog/a.jpeg", "dog/notes.txt", "dog/.hidden.png", "dog/deeper/c.png", "Cat/1.png",
                             "Cat/10.png", "Cat/2.pNg", ".git/x.png", "beside.png"}) {
      folder_.write(name, "");
    }
  }
  ErrorKind kind_of(const std::string& folder, const ImageFolderOptions& options = {}) {
    const auto found = images_by_class(folder, options);
    return found ? ErrorKind::kInternal : found.error().kind();
  }
  TemporaryFolder folder_;
};

TEST_F(ImageFolders, GiveClassesInTheOrderOfTheirNames) {
  const ImageFolder found = value_or_raise(images_by_class(folder_.path()));
  EXPECT_THAT(found.classes, ElementsAre("Cat", "dog"));
  EXPECT_THAT(found.paths, ElementsAre(folder_ / "Cat/1.png", folder_ / "Cat/10.png", folder_ / "Cat/2.pNg",
                                       folder_ / "dog/a.jpeg", folder_ / "dog/b.JPG"));
  EXPECT_THAT(found.labels, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(found.passed_over_count, 5);
}

TEST_F(ImageFolders, AreDatasetsOfPathsAndLabels) {
  const ImageFolder found = value_or_raise(images_by_class(*make_file_storage(), folder_.path()));
  EXPECT_EQ(found.dataset().cardinality(), 5);
  std::vector<std::string> paths;
  std::vector<int64_t> labels;
  for (const Element& one : found.dataset().elements()) {
    EXPECT_EQ(one.features.single().shape(), Shape{});
    paths.push_back(one.features.single().strings()[0]);
    labels.push_back(one.labels.single().as<int64_t>()[0]);
  }
  EXPECT_EQ(paths, found.paths);
  EXPECT_EQ(labels, found.labels);
}

TEST_F(ImageFolders, TakeTheClassesOfATraining) {
  folder_.write("elk/1.png", "");
  const auto found = value_or_raise(images_by_class(folder_.path(), {.classes = {"elk", "dog", "Cat"}}));
  EXPECT_THAT(found.classes, ElementsAre("elk", "dog", "Cat"));
  EXPECT_THAT(found.labels, ElementsAre(0, 1, 1, 2, 2, 2));
  EXPECT_EQ(kind_of(folder_.path(), {.classes = {"dog", "Cat"}}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of(folder_.path(), {.classes = {"dog", "Cat", "elk", "dog"}}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of(folder_.path(), {.classes = {"dog", "Cat", "elk", "none"}}), ErrorKind::kNotFound);
}

TEST_F(ImageFolders, WithoutImagesAreNamed) {
  EXPECT_EQ(kind_of(folder_ / "none"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(folder_ / "Cat"), ErrorKind::kNotFound);
  folder_.write("empty/notes.txt", "");
  const auto found = images_by_class(folder_.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(found.error().message(), HasSubstr(folder_ / "empty"));
}

TEST_F(ImageFolders, AreReadBehindAShuffle) {
  if (!SHOAL_DATA_TESTS_PNG) GTEST_SKIP() << "this build is without libpng";
  TemporaryFolder images;
  std::vector<Tensor> all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(test_image(4, 5 + i, 3, RandomKey(i)));
    images.write(std::string(i < 6 ? "a/" : "b/") + char('a' + i) + ".png", value_or_raise(encode_png(all.back())));
  }
  const Dataset dataset = value_or_raise(images_by_class(images.path()))
                              .dataset()
                              .shuffle(50000, {.seed = 4})
                              .map(read_images({.channels = 3}), {.parallel = 2});
  std::vector<int64_t> widths;
  for (const Element& one : dataset.elements()) {
    widths.push_back(one.features.single().shape()[1]);
    const int64_t i = widths.back() - 5;
    EXPECT_TRUE(same_bits(one.features.single(), all[size_t(i)]));
    EXPECT_EQ(one.labels.single().as<int64_t>()[0], i / 6);
  }
  EXPECT_FALSE(std::is_sorted(widths.begin(), widths.end()));
  std::sort(widths.begin(), widths.end());
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(widths[size_t(i)], 5 + i);
}

}  // namespace
}  // namespace shoal::data
