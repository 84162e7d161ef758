// SPDX-License-Identifier: Apache-2.0
/// The pictures of examples/cifar: files as published, files that are not, patterns, crops and flips.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <tuple>

#include "augment.h"
#include "folders.h"
#include "network.h"
#include "patterns.h"
#include "pictures.h"
#include "run_program.h"
#include "shoal/base/error.h"
#include "shoal/base/production.h"
#include "shoal/estimator/estimator.h"

namespace cifar {
namespace {

using mnist::Ended;
using mnist::TemporaryFolder;
using mnist::write;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kRecordBytes = 3073;

/// A record as the format's page describes it, with what byte i of each plane is.
std::string record(char label, int (*red)(int), int (*green)(int), int (*blue)(int)) {
  std::string bytes(1, label);
  for (auto plane : {red, green, blue}) {
    for (int i = 0; i < 1024; ++i) bytes += char(plane(i));
  }
  return bytes;
}

/// `count` records with labels 0 to 9 in turn; all bytes of record i are first + i.
std::string plain_records(int first, int count) {
  std::string bytes;
  for (int i = first; i < first + count; ++i) bytes += char(i % 10) + std::string(kRecordBytes - 1, char(i));
  return bytes;
}

shoal::Result<Images> read(const std::vector<std::string>& paths) {
  return read_records(*shoal::make_file_storage(), paths);
}

std::array<int, 3> pixel(const Images& images, int64_t picture, int64_t row, int64_t column) {
  const uint8_t* at = images.pixels.as<uint8_t>().data() + ((picture * 32 + row) * 32 + column) * 3;
  return {at[0], at[1], at[2]};
}

template <class Call>
shoal::Error refusal(const Call& call) {
  try {
    call();
  } catch (const shoal::Exception& exception) {
    return exception.error();
  }
  return shoal::internal_error("it was not refused");
}

/// The expected numbers were worked out by hand from the description of the format.
TEST(CifarRecords, PlanesOfColoursBecomePixels) {
  const TemporaryFolder folder;
  write(folder / "one.bin", record(
                                7, [](int i) { return i % 251; }, [](int i) { return (7 * i + 3) % 253; },
                                [](int i) { return (31 * i + 9) % 241; }));
  const Images images = shoal::value_or_raise(read({folder / "one.bin"}));
  EXPECT_EQ(images.pixels.shape(), (shoal::Shape{1, 32, 32, 3}));
  EXPECT_THAT(images.labels.as<int64_t>(), ElementsAre(7));
  EXPECT_THAT(pixel(images, 0, 0, 0), ElementsAre(0, 3, 9));
  EXPECT_THAT(pixel(images, 0, 0, 31), ElementsAre(31, 220, 6));
  EXPECT_THAT(pixel(images, 0, 5, 17), ElementsAre(177, 230, 194));
  EXPECT_THAT(pixel(images, 0, 31, 0), ElementsAre(239, 116, 154));
}

TEST(CifarRecords, FilesFollowEachOther) {
  const TemporaryFolder folder;
  write(folder / "a.bin", plain_records(0, 600));
  write(folder / "b.bin", plain_records(600, 3));
  const Images images = shoal::value_or_raise(read({folder / "a.bin", folder / "b.bin"}));
  ASSERT_EQ(images.labels.shape(), (shoal::Shape{603}));
  for (int64_t i = 0; i < 603; ++i) {
    ASSERT_EQ(images.labels.as<int64_t>()[size_t(i)], i % 10);
    ASSERT_THAT(pixel(images, i, 31, 31), ::testing::Each(int(i % 256))) << i;
  }
}

TEST(CifarRecords, RefusesAFileThatIsNotWholeRecords) {
  const TemporaryFolder folder;
  const std::string path = folder / "test_batch.bin";
  for (const size_t bytes : {size_t(0), 2 * kRecordBytes - 1, 2 * kRecordBytes + 1}) {
    write(path, plain_records(0, 3).substr(0, bytes));
    const shoal::Result<Images> images = read({path});
    ASSERT_FALSE(images) << bytes;
    EXPECT_EQ(images.error().kind(), shoal::ErrorKind::kDataLoss);
    EXPECT_THAT(images.error().message(), AllOf(HasSubstr(path), HasSubstr(" has " + std::to_string(bytes) + " bytes"),
                                                HasSubstr("truncated"), HasSubstr("unpack the archive")));
  }
}

TEST(CifarRecords, RefusesALabelThatIsNoneAndNamesTheRecord) {
  const TemporaryFolder folder;
  const std::string path = folder / "data_batch_2.bin";
  std::string bytes = plain_records(0, 300);
  bytes[290 * kRecordBytes] = 10;
  write(path, bytes);
  const shoal::Result<Images> images = read({path});
  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().kind(), shoal::ErrorKind::kDataLoss);
  EXPECT_THAT(images.error().message(),
              AllOf(HasSubstr(path), HasSubstr("record 290 "), HasSubstr("at offset 891170"), HasSubstr("label 10")));
}

TEST(CifarRecords, SomeClassesHaveLabelsOfTheirOwn) {
  const TemporaryFolder folder;
  write(folder / "a.bin", plain_records(0, 20));
  const Images images = shoal::value_or_raise(read({folder / "a.bin"}));
  const Images some = of_classes(images, {7, 2, 9});
  EXPECT_THAT(some.labels.as<int64_t>(), ElementsAre(1, 0, 2, 1, 0, 2));
  EXPECT_THAT(pixel(some, 4, 8, 8), ::testing::Each(17));
  EXPECT_THAT(refusal([&] { of_classes(images, {1, 2}); }).message(), HasSubstr("there are 2 classes"));
  EXPECT_THAT(refusal([&] { of_classes(images, {1, 2, 1}); }).message(), HasSubstr("class 1: classes are different"));
  EXPECT_THAT(refusal([&] { of_classes(images, {1, 2, 10}); }).message(), HasSubstr("from 0 to 9"));
  write(folder / "a.bin", plain_records(0, 5));
  const Images few = shoal::value_or_raise(read({folder / "a.bin"}));
  EXPECT_THAT(refusal([&] { of_classes(few, {3, 4, 5}); }).message(), HasSubstr("of class 5 there is no picture among 5"));
}

TEST(CifarPatterns, AreAFunctionOfCountAndSeedInEqualParts) {
  const Images once = draw_patterns(500, 3), again = draw_patterns(500, 3), other = draw_patterns(500, 4);
  EXPECT_TRUE(std::ranges::equal(once.pixels.as<uint8_t>(), again.pixels.as<uint8_t>()));
  EXPECT_TRUE(std::ranges::equal(once.labels.as<int64_t>(), again.labels.as<int64_t>()));
  EXPECT_FALSE(std::ranges::equal(once.pixels.as<uint8_t>(), other.pixels.as<uint8_t>()));
  for (int64_t label = 0; label < 10; ++label) EXPECT_EQ(std::ranges::count(once.labels.as<int64_t>(), label), 50);
}

/// One in ten would be right by chance.
TEST(CifarPatterns, AreNotToldApartByTheirMeanColour) {
  const auto colour = [](const Images& images, int64_t picture) {
    std::array<double, 3> sum{};
    for (int64_t i = 0; i < 1024; ++i) {
      const auto at = pixel(images, picture, i / 32, i % 32);
      for (size_t k = 0; k < 3; ++k) sum[k] += at[k] / 1024.0;
    }
    return sum;
  };
  const Images training = draw_patterns(3000, 5), test = draw_patterns(1000, 6);
  std::array<std::array<double, 3>, 10> means{};
  for (int64_t i = 0; i < 3000; ++i) {
    const auto of = colour(training, i);
    for (size_t k = 0; k < 3; ++k) means[size_t(training.labels.as<int64_t>()[size_t(i)])][k] += of[k] / 300;
  }
  int right = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const auto of = colour(test, i);
    std::array<double, 10> distances{};
    for (size_t label = 0; label < 10; ++label) {
      for (size_t k = 0; k < 3; ++k) distances[label] += (of[k] - means[label][k]) * (of[k] - means[label][k]);
    }
    right += std::ranges::min_element(distances) - distances.begin() == test.labels.as<int64_t>()[size_t(i)];
  }
  EXPECT_LT(right, 200);
}

/// Pictures whose pixels say where they were: 8 * row, 8 * column, 1.
shoal::data::Dataset maps(int64_t count) {
  shoal::Tensor pixels(shoal::DType::kUInt8, {count, 32, 32, 3}), labels(shoal::DType::kInt64, {count});
  uint8_t* at = pixels.mutable_as<uint8_t>().data();
  for (int64_t i = 0; i < count * 1024; ++i) {
    *at++ = uint8_t(8 * (i % 1024 / 32));
    *at++ = uint8_t(8 * (i % 32));
    *at++ = 1;
  }
  for (int64_t i = 0; i < count; ++i) labels.mutable_as<int64_t>()[size_t(i)] = i;
  return shoal::data::Dataset::from_tensor_slices(pixels, labels);
}

using How = std::tuple<int, int, bool>;  ///< Rows down, columns right, mirrored.

/// How a map was moved, read from its middle; all of its pixels have to agree.
How how(const shoal::data::Element& element) {
  const uint8_t* pixels = element.features.single().as<uint8_t>().data();
  const auto at = [&](int row, int column, int colour) { return int(pixels[(row * 32 + column) * 3 + colour]); };
  const bool mirrored = at(16, 17, 1) < at(16, 16, 1);
  const int down = 16 - at(16, 16, 0) / 8, right = (mirrored ? 15 : 16) - at(16, 16, 1) / 8;
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) {
      const int from_row = row - down, from_column = (mirrored ? 31 - column : column) - right;
      const bool inside = from_row >= 0 && from_row < 32 && from_column >= 0 && from_column < 32;
      EXPECT_EQ(at(row, column, 0), inside ? 8 * from_row : 121) << row << ", " << column;
      EXPECT_EQ(at(row, column, 1), inside ? 8 * from_column : 121) << row << ", " << column;
      EXPECT_EQ(at(row, column, 2), inside ? 1 : 121) << row << ", " << column;
    }
  }
  return {down, right, mirrored};
}

class CifarAugment : public ::testing::Test {
 protected:
  std::vector<How> take(shoal::data::Iterator& iterator, int count) {
    std::vector<How> all;
    shoal::data::Element element;
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(shoal::value_or_raise(iterator.next(element)));
      all.push_back(how(element));
    }
    return all;
  }
  std::unique_ptr<shoal::data::Iterator> open(int64_t seed) {
    return shoal::value_or_raise(augment(maps(50).repeat(), seed).iterate(*env_));
  }
  std::unique_ptr<shoal::Environment> env_ = shoal::make_production_environment({});
};

TEST_F(CifarAugment, MovesByUpToFourPixelsAndMirrorsHalf) {
  std::set<int> down, right;
  int mirrored = 0;
  for (const auto& [rows, columns, mirror] : take(*open(1), 400)) {
    down.insert(rows);
    right.insert(columns);
    mirrored += mirror;
  }
  EXPECT_THAT(down, ElementsAre(-4, -3, -2, -1, 0, 1, 2, 3, 4));
  EXPECT_THAT(right, ElementsAre(-4, -3, -2, -1, 0, 1, 2, 3, 4));
  EXPECT_NEAR(mirrored, 200, 50);
}

TEST_F(CifarAugment, IsAnotherInEachPassAndTheSameForTheSameKey) {
  const std::vector<How> all = take(*open(1), 100);
  EXPECT_NE(std::vector(all.begin(), all.begin() + 50), std::vector(all.begin() + 50, all.end()));
  EXPECT_EQ(all, take(*open(1), 100));
  EXPECT_NE(all, take(*open(2), 100));
}

TEST_F(CifarAugment, GoesOnAfterARestartAsItWould) {
  const std::vector<How> all = take(*open(1), 100);
  const auto first = open(1), resumed = open(1);
  take(*first, 70);
  shoal::value_or_raise(resumed->restore(shoal::value_or_raise(first->save())));
  EXPECT_EQ(take(*resumed, 30), std::vector(all.begin() + 70, all.end()));
}

class CifarProgram : public ::testing::Test {
 protected:
  CifarProgram() {
    std::filesystem::create_directory(folder_);
    for (int i = 0; i < 6; ++i) write(folder_ + "/" + kNames[size_t(i)], plain_records(30 * i, i < 5 ? 20 : 8));
  }
  Ended train_in(const std::string& model, const std::string& arguments) {
    return mnist::run_cifar("--json --quiet --seed 5 --batch 2 --steps 2 --data-dir " + data_.path() + " --model-dir " +
                            model + " " + arguments);
  }
  Ended train(const std::string& arguments) {
    const TemporaryFolder model;
    return train_in(model.path(), arguments);
  }
  static std::string metrics(const Ended& ended) {
    return ended.output.substr(0, ended.output.find(",\"examples_per_second\""));
  }
  static constexpr std::array<const char*, 6> kNames{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                     "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  TemporaryFolder data_;
  std::string folder_ = data_ / "cifar-10-batches-bin";
};

TEST_F(CifarProgram, ReadsAllSixFilesInTheFolderOrItsParent) {
  shoal::CommandLine line;
  const std::vector<int64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const std::string& folder : {folder_, data_.path()}) {
    line.data_dir = folder;
    Pictures pictures(line, all, 0);
    EXPECT_FALSE(pictures.drawn());
    EXPECT_EQ(pictures.training().pixels.shape(), (shoal::Shape{100, 32, 32, 3}));
    EXPECT_THAT(pixel(pictures.training(), 99, 0, 0), ::testing::Each(139));  // The last record of the fifth file.
    EXPECT_EQ(pictures.test().labels.shape(), (shoal::Shape{8}));
    EXPECT_THAT(pixel(pictures.test(), 0, 0, 0), ::testing::Each(150));
  }
}

/// Crops and flips are part of what has to be equal; --threads is, since sums over pictures are divided among threads.
TEST_F(CifarProgram, ASynchronousClusterIsAProcessWithReplicas) {
  const Ended replicas = train("--threads 1 --replicas 2");
  const Ended cluster = train("--threads 1 --strategy sync --cluster ps:1,worker:1,evaluator");
  ASSERT_EQ(replicas.status, 0) << replicas.output;
  ASSERT_EQ(cluster.status, 0) << cluster.output;
  EXPECT_THAT(replicas.output, AllOf(HasSubstr("\"accuracy\":"), HasSubstr("\"global_step\":2")));
  EXPECT_EQ(metrics(replicas), metrics(cluster));
}

/// Pictures of a folder are read, cropped and mirrored as those of memory are.
TEST_F(CifarProgram, TrainsOnAFolderOfPicturesAloneAndAsACluster) {
  const TemporaryFolder folder, models;
  write_folder(draw_patterns(40, 1), folder / "train");
  write_folder(draw_patterns(20, 2), folder / "test");
  const auto train_on = [&](const std::string& model, const std::string& arguments) {
    return mnist::run_cifar("--json --quiet --seed 5 --batch 2 --steps 2 --threads 1 --pictures " + folder.path() +
                            " --model-dir " + (models / model) + " " + arguments);
  };
  const Ended replicas = train_on("replicas", "--replicas 2");
  const Ended cluster = train_on("cluster", "--strategy sync --cluster ps:1,worker:1,evaluator");
  ASSERT_EQ(replicas.status, 0) << replicas.output;
  ASSERT_EQ(cluster.status, 0) << cluster.output;
  EXPECT_EQ(metrics(replicas), metrics(cluster));
  const Ended fewer = train_on("fewer", "--classes 0,1,2");
  EXPECT_EQ(fewer.status, 2);
  EXPECT_THAT(fewer.output, HasSubstr("has 10 classes: give as many numbers"));
  std::filesystem::remove_all(folder / "test");
  EXPECT_THAT(train_on("none", "").output, HasSubstr(folder / "test"));
}

/// The variables of two models, but those of the last layer: which are the same, and which are not.
class Compared {
 public:
  Compared(const std::string& old_model, const std::string& new_model) {
    const shoal::Estimator before(classify, shoal::RunConfig(), {}, old_model),
        after(classify, shoal::RunConfig(), {}, new_model);
    for (const std::string& name : before.variable_names()) {
      if (name.starts_with("logits/") || name.ends_with("/momentum") || name == "global_step") continue;
      const shoal::Tensor a = before.variable_value(name), b = after.variable_value(name);
      (std::ranges::equal(a.as<float>(), b.as<float>()) ? same : different).insert(name);
    }
  }
  std::set<std::string> same, different;
};

TEST_F(CifarProgram, OtherClassesStartFromATrainedBodyAndLeaveAFrozenOneAsItWas) {
  const TemporaryFolder models;
  const std::string old = models / "old", others = "--classes 4,5,6 --start-from " + old;
  ASSERT_EQ(train_in(old, "--classes 0,1,2,3").status, 0);
  const Ended frozen = train_in(models / "frozen", others + " --frozen"), tuned = train_in(models / "tuned", others);
  ASSERT_EQ(frozen.status, 0) << frozen.output;
  ASSERT_EQ(tuned.status, 0) << tuned.output;
  const shoal::Estimator after(classify, shoal::RunConfig(), {}, models / "frozen");
  EXPECT_EQ(after.variable_value("logits/kernel").shape(), (shoal::Shape{3, 64}));
  EXPECT_TRUE(std::ranges::any_of(after.variable_value("logits/bias").as<float>(), [](float x) { return x != 0; }));
  // 21 convolutions with shortcuts, and as many normalizations of four variables.
  EXPECT_THAT(Compared(old, models / "frozen").different, ::testing::IsEmpty());
  EXPECT_EQ(Compared(old, models / "frozen").same.size(), 5 * 21u);
  EXPECT_EQ(Compared(old, models / "tuned").different.size(), 5 * 21u);
}

TEST_F(CifarProgram, AsManyOtherClassesAreAnotherModel) {
  const TemporaryFolder model;
  ASSERT_EQ(train_in(model.path(), "--classes 0,1,2").status, 0);
  const Ended other = mnist::run_cifar("--seed 5 --batch 2 --steps 4 --classes 2,1,0 --data-dir " + data_.path() +
                                       " --model-dir " + model.path());
  EXPECT_EQ(other.status, 2) << other.output;
  EXPECT_THAT(other.output, HasSubstr("the labels: ids (3 classes: 0, 1, 2) before, ids (3 classes: 2, 1, 0) now"));
}

TEST_F(CifarProgram, SaysWhatIsWrongWithFilesAndFlags) {
  const auto expect = [&](int status, const std::string& arguments, const std::string& sentence) {
    const Ended ended = train(arguments);
    EXPECT_EQ(ended.status, status) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(sentence));
  };
  expect(2, "--classes 0,12,3", "class 12: classes are different numbers from 0 to 9");
  expect(2, "--classes 0,1,1", "class 1: classes are different numbers");
  expect(2, "--frozen", "--frozen needs --start-from");
  expect(2, "--start-from " + data_ / "nowhere", data_ / "nowhere");
  std::filesystem::resize_file(folder_ + "/data_batch_3.bin", 5000);
  expect(4, "", folder_ + "/data_batch_3.bin has 5000 bytes");
  std::filesystem::remove(folder_ + "/data_batch_3.bin");
  expect(2, "", "there is neither " + data_ / "data_batch_3.bin");
}

}  // namespace
}  // namespace cifar
