// SPDX-License-Identifier: Apache-2.0
// cache(path): passes that write and read its file, positions in both, damage, and several that use one file.
#include <gmock/gmock.h>

#include <filesystem>

#include "collecting.h"
#include "other_programs.h"
#include "shoal/base/memory_storage.h"

namespace shoal::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CacheFile : public ::testing::TestWithParam<bool> {
 protected:
  /// The numbers below `count` times ten. Counts the calls of its function.
  Dataset tens(int64_t count) {
    return Dataset::range(count).map([this](Element element) {
      ++calls_;
      element.features = TensorMap(Tensor::scalar(element.features.single().as<int64_t>()[0] * 10));
      return element;
    });
  }
  Dataset cached(int64_t count) { return tens(count).cache("c/file", {.compress = GetParam()}); }
  static Values expected(int64_t count) {
    Values values;
    for (int64_t i = 0; i < count; ++i) values.emplace_back(i * 10);
    return values;
  }
  Environment& new_environment() {
    return world_.add_task(
        {.sink = [this](const LogRecord& line) { lines_.emplace_back(line.message); }, .storage = storage_});
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const FileInfo& file : value_or_raise(storage_->list("c"))) names.push_back(file.name);
    return names;
  }
  void SetUp() override { value_or_raise(storage_->make_folders("c")); }

  std::shared_ptr<Storage> storage_ = make_memory_storage();
  VirtualWorld world_{7};
  std::vector<std::string> lines_;
  Environment& env_ = new_environment();
  int calls_ = 0;
};

TEST_P(CacheFile, LaterPassesAndRunsReadTheFile) {
  Values twice = expected(30);
  const Values once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(collect(cached(30).repeat(2), env_), twice);
  EXPECT_EQ(calls_, 30);
  EXPECT_EQ(collect(cached(30), new_environment()), once);
  EXPECT_EQ(calls_, 30);
  EXPECT_EQ(collect(cached(30).skip(7).shard(2, 1), new_environment()),
            values({80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280}));
  EXPECT_EQ(calls_, 30);
  EXPECT_THAT(files(), ElementsAre("file", "file.lock"));
  EXPECT_THAT(lines_, ElementsAre());
}

TEST_P(CacheFile, HoldsElementsOfAllKindsInManyBlocks) {
  const auto grown = [](const Element& element) {
    const int64_t number = element.features.single().as<int64_t>()[0];
    Element made;
    made.features.set("text", Tensor::of_strings({2}, {std::string(size_t(number * 40), 'x'), std::to_string(number)}));
    made.features.set("half", Tensor::zeros(DType::kFloat16, Shape{number % 3, 2}));
    made.labels = TensorMap(Tensor::of<float>({3}, {float(number), -0.0f, 1e-40f}));
    return made;
  };
  const Dataset plain = Dataset::range(400).map(grown), cached = plain.cache("c/file", {.compress = GetParam()}).repeat(2);
  const auto iterator = open(cached, env_);
  for (int pass = 0; pass < 2; ++pass) {
    const auto other = open(plain, env_);
    for (Element one, two; *other->next(one);) {
      ASSERT_TRUE(*iterator->next(two));
      EXPECT_EQ(one.features["text"].strings(), two.features["text"].strings());
      EXPECT_EQ(one.features["half"].shape(), two.features["half"].shape());
      EXPECT_EQ(std::memcmp(one.labels.single().address(), two.labels.single().address(), 12), 0);
    }
  }
  Element element;
  EXPECT_FALSE(*iterator->next(element));
  const uint64_t bytes = value_or_raise(storage_->open("c/file"))->size();
  EXPECT_GT(bytes, GetParam() ? 0u : 3'000'000u);
  EXPECT_LT(bytes, GetParam() ? 300'000u : 4'000'000u);
}

/// What a program reads that was made from the page.
TEST_P(CacheFile, IsAsItsPageSays) {
  if (GetParam()) return;  // The program knows no zstd.
  TemporaryFolder folder;
  const Dataset dataset = Dataset::range(3).map([](const Element& element) {
    Element made = element;
    made.features = TensorMap{{"n", element.features.single()}, {"t", Tensor::of_strings({1}, {"text"})}};
    made.labels = TensorMap(Tensor::of<float>({2}, {0.5f, -1}));
    return made;
  });
  for (const Element& element : dataset.cache(folder / "file", {.compress = false}).elements()) (void)element;
  std::string expected;
  for (const char* number : {"0", "1", "2"}) {
    expected += std::string("[{\"n\": [\"int64\", [], [") + number +
                "]], \"t\": [\"string\", [1], [\"text\"]]}, {\"\": [\"float32\", [2], [0.5, -1.0]]}]\n";
  }
  EXPECT_EQ(output_of(python("read_cache.py") + (folder / "file") + " 2>&1"), expected);
}

/// Files of this version go on loading.
TEST_P(CacheFile, OldFilesAreRead) {
  const std::string name = GetParam() ? "cache_v1.zst" : "cache_v1";
  value_or_raise(storage_->write_atomically("c/file", contents_of(std::string(SHOAL_DATA_TESTS "/old/") + name)));
  EXPECT_EQ(collect(cached(100), env_), expected(100));
  EXPECT_EQ(calls_, 0);
}

TEST_P(CacheFile, AnIncompletePassLeavesNothing) {
  EXPECT_EQ(collect(cached(30).take(29), env_), expected(29));
  EXPECT_THAT(files(), ElementsAre("file.lock"));
  const Dataset failing = Dataset::range(5).map([](Element element) -> Result<Element> {
    if (element.features.single().as<int64_t>()[0] == 3) return data_loss("no such element");
    return element;
  });
  EXPECT_TRUE(drain(*open(failing.cache("c/other"), env_)).error);
  EXPECT_THAT(files(), ElementsAre("file.lock", "other.lock"));
}

/// Whether the file is there or not when an iterator goes on at a position: what comes is what would have come.
TEST_P(CacheFile, GoesOnFromEveryPosition) {
  const Dataset dataset = cached(7).repeat(3).batch(2);
  const auto whole = open(dataset, env_);
  std::vector<Position> positions{value_or_raise(whole->save())};
  Values all;
  for (Element element; *whole->next(element);) {
    all.push_back(value_of(element));
    positions.push_back(value_or_raise(whole->save()));
  }
  ASSERT_EQ(all.size(), 11u);
  for (const bool has_file : {true, false}) {
    for (size_t i = 0; i < positions.size(); ++i) {
      if (!has_file && storage_->exists("c/file")) value_or_raise(storage_->remove("c/file"));
      const auto resumed = open(dataset, new_environment());
      const Result<void> restored = resumed->restore(positions[i]);
      if (!has_file && i > 3) {  // Element 7, the first one of the second pass, is in batch 3.
        ASSERT_FALSE(restored);
        EXPECT_THAT(restored.error().message(), HasSubstr("c/file, which is not there any more"));
        continue;
      }
      ASSERT_TRUE(restored) << restored.error().message();
      EXPECT_EQ(drain(*resumed).values, Values(all.begin() + ptrdiff_t(i), all.end())) << i;
      EXPECT_EQ(storage_->exists("c/file"), true);
      EXPECT_EQ(collect(cached(7), new_environment()), expected(7));
    }
  }
}

/// A pass that was broken off, or that another one was writing, leaves no count for the next pass.
TEST_P(CacheFile, GoesOnFromBeforeTheFirstElementOfAPass) {
  const auto expect_the_same_rest = [&](const Dataset& dataset, size_t elements) {
    const auto whole = open(dataset, env_);
    drain(*whole, elements);
    const auto resumed = open(dataset, new_environment());
    ASSERT_TRUE(resumed->restore(value_or_raise(whole->save())));
    const Values rest = drain(*resumed).values;
    EXPECT_EQ(rest, drain(*whole).values);
    EXPECT_GT(rest.size(), 1u);
  };
  for (size_t elements = 0; elements < 16; ++elements) {
    if (storage_->exists("c/file")) value_or_raise(storage_->remove("c/file"));
    expect_the_same_rest(Dataset::range(100, 103).concatenate(cached(10).take(5)).repeat(3), elements);
  }
  const auto writing = open(tens(4).cache("c/other", {.compress = GetParam()}), env_);
  drain(*writing, 1);  // It holds the lock.
  for (size_t elements = 0; elements < 10; ++elements) {
    expect_the_same_rest(Dataset::range(100, 102).concatenate(tens(4).cache("c/other", {.compress = GetParam()})).repeat(2),
                         elements);
  }
}

TEST_P(CacheFile, AFileOfOtherElementsIsNoPlaceToGoOn) {
  const auto first = open(cached(5).repeat(2), env_);
  ASSERT_EQ(drain(*first, 7).values.size(), 7u);
  const Position position = value_or_raise(first->save());
  value_or_raise(storage_->remove("c/file"));
  ++calls_;
  const Dataset other =
      Dataset::range(5).map([](const Element&) { return Element{.features = Tensor::scalar(int64_t(1))}; });
  EXPECT_EQ(collect(other.cache("c/file"), env_).size(), 5u);
  const Result<void> restored = open(cached(5).repeat(2), env_)->restore(position);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(restored.error().message(), HasSubstr("c/file holds other elements than before"));
}

TEST_P(CacheFile, OneWritesAndOthersTakeTheInput) {
  const auto one = open(cached(6), env_), two = open(cached(6).repeat(2), new_environment());
  EXPECT_EQ(drain(*one, 3).values, expected(3));
  EXPECT_EQ(drain(*two, 4).values, expected(4));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("another one is writing c/file")));
  EXPECT_EQ(calls_, 7);
  EXPECT_EQ(drain(*one).values.size(), 3u);
  EXPECT_EQ(calls_, 10);
  EXPECT_EQ(drain(*two).values.size(), 8u);  // Two more of the input, and six of the file.
  EXPECT_EQ(calls_, 12);
}

TEST_P(CacheFile, AFileOfAnotherPipelineIsRefused) {
  collect(cached(6), env_);
  const auto error = drain(*open(cached(7), env_)).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error->message(), HasSubstr("c/file holds the elements of another pipeline"));
}

TEST_P(CacheFile, DamageNamesFileAndOffset) {
  collect(cached(40), env_);
  const std::string whole = value_or_raise(storage_->read_all("c/file"));
  const auto expect_refused = [&](const std::string& damaged, size_t at) {
    value_or_raise(storage_->write_atomically("c/file", damaged));
    const auto error = drain(*open(cached(40), env_)).error;
    ASSERT_TRUE(error) << at;
    // In front of the first record there is its head, of 12 bytes. The next 12 bytes are those of every file of cache().
    const bool is_ours = damaged.size() >= 24 && damaged.substr(12, 12) == "shoal cache ";
    EXPECT_THAT(error->message(), HasSubstr(is_ours ? "c/file (offset " : "c/file is no file of cache()")) << at;
    EXPECT_EQ(error->kind(), is_ours ? ErrorKind::kDataLoss : ErrorKind::kFailedPrecondition);
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x04);
    expect_refused(damaged, at);
    expect_refused(whole.substr(0, at), at);
  }
}

/// Whatever lies at the path is somebody's own file, unless it begins as a file of cache() does.
TEST_P(CacheFile, AFileOfSomebodyElseIsLeftAlone) {
  for (const std::string own : {"a,b\n1,2\n", "", "a text that is longer than the beginning of a file of cache()"}) {
    value_or_raise(storage_->write_atomically("c/file", own));
    const auto error = drain(*open(cached(5), env_)).error;
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(error->message(), AllOf(HasSubstr("c/file is no file of cache()"), HasSubstr("give cache() another path"),
                                        Not(HasSubstr("delete"))));
    EXPECT_EQ(value_or_raise(storage_->read_all("c/file")), own);
  }
  value_or_raise(storage_->remove("c/file"));
  const std::string lock = "c/file.lock";
  value_or_raise(storage_->write_atomically(lock, "my notes\n"));
  lines_.clear();
  EXPECT_EQ(collect(cached(5), new_environment()), expected(5));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr(lock + " is there, and no file of cache()"),
                                        HasSubstr("goes on without c/file"))));
  EXPECT_EQ(value_or_raise(storage_->read_all(lock)), "my notes\n");
  EXPECT_FALSE(storage_->exists("c/file"));
}

/// A process that was killed leaves an unfinished file and a lock file, which are no obstacle.
TEST_P(CacheFile, WhatAKilledProcessLeftIsOverwritten) {
  collect(cached(30), env_);
  const std::string whole = value_or_raise(storage_->read_all("c/file"));
  for (const std::string& left : {whole.substr(0, 70), std::string(), std::string(5000, '\0')}) {
    value_or_raise(storage_->remove("c/file"));
    value_or_raise(storage_->write_atomically("c/file.unfinished", left));
    EXPECT_EQ(collect(cached(30), env_), expected(30));
    EXPECT_EQ(value_or_raise(storage_->read_all("c/file")), whole);
  }
  EXPECT_THAT(lines_, ::testing::IsEmpty());
}

TEST_P(CacheFile, ALinkThatLeadsNowhereIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string link = folder / "link";
  storage_ = make_file_storage();
  std::filesystem::create_symlink("target", link);
  const auto through = [&] { return tens(5).cache(link, {.compress = GetParam()}); };
  EXPECT_EQ(collect(through(), new_environment()), expected(5));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr(link + " is a link that leads nowhere"), HasSubstr("goes on without"))));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(link));
  // Where the link leads to a file of cache(), it is read.
  collect(tens(5).cache(folder / "target", {.compress = GetParam()}), new_environment());
  const int calls = calls_;
  EXPECT_EQ(collect(through(), new_environment()), expected(5));
  EXPECT_EQ(calls_, calls);
}

TEST_P(CacheFile, WithoutRoomAPassGoesOnWithoutTheFile) {
  storage_ = make_memory_storage({.capacity_bytes = 300});
  value_or_raise(storage_->make_folders("c"));
  Environment& env = new_environment();
  EXPECT_EQ(collect(cached(500), env), expected(500));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("No space left"), HasSubstr("goes on without c/file"))));
  EXPECT_THAT(files(), ElementsAre("file.lock"));
}

TEST_P(CacheFile, WithoutItsFolderAPassGoesOnWithoutTheFile) {
  EXPECT_EQ(collect(tens(5).cache("none/file"), env_), expected(5));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("goes on without none/file")));
}

TEST_P(CacheFile, RefusesWhatCanNeverBeComplete) {
  EXPECT_THAT(raised([&] { tens(5).repeat().cache("c/file"); })->message(), HasSubstr("put repeat() behind cache()"));
  for (const Dataset& endless : {tens(5).repeat(), tens(5).shuffle(3).repeat().batch(2).prefetch(1)}) {
    const std::optional<Error> error = raised([&] { endless.cache(); });
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(error->message(), HasSubstr("it would take ever more memory; put repeat() behind cache()"));
  }
  EXPECT_EQ(collect(tens(2).repeat().take(3).cache().repeat(2), env_).size(), 6u);
  EXPECT_THAT(raised([&] { tens(5).cache(""); })->message(), HasSubstr("the path is empty"));
}

INSTANTIATE_TEST_SUITE_P(, CacheFile, ::testing::Bool(),
                         [](const auto& compress) { return compress.param ? "Compressed" : "Plain"; });

}  // namespace
}  // namespace shoal::data
