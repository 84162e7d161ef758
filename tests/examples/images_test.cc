// SPDX-License-Identifier: Apache-2.0
/// Bad data ends with a sentence that names the file, and the exit status of its kind; never with a guess.
#include "images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "run_program.h"
#include "shoal/base/error.h"

namespace mnist {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ImagesTest : public ::testing::Test {
 protected:
  ImagesTest() { write_small_data(folder_.path(), 20); }

  /// What opening the training images says.
  shoal::Error refusal() {
    try {
      ImageSource(folder_.path(), 0).training();
    } catch (const shoal::Exception& exception) {
      return exception.error();
    }
    return shoal::internal_error("it was not refused");
  }

  TemporaryFolder folder_;
  std::string images_ = folder_ / "train-images-idx3-ubyte";
  std::string labels_ = folder_ / "train-labels-idx1-ubyte";
};

TEST_F(ImagesTest, ReadsTheFolderOrItsParent) {
  TemporaryFolder parent;
  std::filesystem::create_directory(parent / "mnist");
  write_small_data(parent / "mnist", 30);
  ImageSource source(parent.path(), 0);
  EXPECT_FALSE(source.drawn());
  EXPECT_EQ(source.training().pixels.shape(), (shoal::Shape{30, 28, 28, 1}));
  EXPECT_EQ(source.test().labels.as<int64_t>()[13], 3);
}

TEST_F(ImagesTest, NamesTheFileThatIsMissing) {
  std::filesystem::remove(labels_);
  EXPECT_EQ(refusal().kind(), shoal::ErrorKind::kNotFound);
  EXPECT_THAT(refusal().message(),
              AllOf(HasSubstr("train-labels-idx1-ubyte"), HasSubstr(folder_.path()), HasSubstr("--data-dir")));
}

TEST_F(ImagesTest, RefusesATruncatedFile) {
  std::filesystem::resize_file(images_, 16 + 20 * 28 * 28 - 1);
  EXPECT_EQ(refusal().kind(), shoal::ErrorKind::kDataLoss);
  EXPECT_THAT(refusal().message(), HasSubstr(images_));
}

TEST_F(ImagesTest, RefusesImagesOfAnotherSize) {
  write(images_, idx({20, 14, 14}, std::string(20 * 14 * 14, 'x')));
  EXPECT_EQ(refusal().kind(), shoal::ErrorKind::kDataLoss);
  EXPECT_THAT(refusal().message(), AllOf(HasSubstr(images_), HasSubstr("28 x 28")));
}

TEST_F(ImagesTest, RefusesLabelsOfAnotherNumber) {
  write(labels_, idx({19}, std::string(19, '\1')));
  EXPECT_EQ(refusal().kind(), shoal::ErrorKind::kDataLoss);
  EXPECT_THAT(refusal().message(), HasSubstr(labels_));
}

TEST_F(ImagesTest, RefusesWhatIsNoIdxFile) {
  write(images_, "PNG or anything else");
  EXPECT_EQ(refusal().kind(), shoal::ErrorKind::kDataLoss);
  EXPECT_THAT(refusal().message(), HasSubstr(images_));
}

/// The whole program: its last line is the sentence, its status tells the kind.
class BadData : public ImagesTest {
 protected:
  Ended train() {
    return run_mnist("--quiet --model mlp --steps 2 --batch 10 --data-dir " + folder_.path() + " --model-dir " +
                     (model_.path()));
  }
  TemporaryFolder model_;
};

TEST_F(BadData, TruncatedImagesAreStatusFour) {
  std::filesystem::resize_file(images_, 100);
  const Ended ended = train();
  EXPECT_EQ(ended.status, 4);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("error: "), HasSubstr(images_)));
}

TEST_F(BadData, AMissingFileIsStatusTwo) {
  std::filesystem::remove(images_);
  const Ended ended = train();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("error: "), HasSubstr("train-images-idx3-ubyte")));
}

TEST_F(BadData, ALabelThatIsNoDigitIsStatusTwo) {
  write(labels_, idx({20}, std::string(20, '\x0b')));
  const Ended ended = train();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("error: "), HasSubstr("label"), HasSubstr("11")));
}

}  // namespace
}  // namespace mnist
