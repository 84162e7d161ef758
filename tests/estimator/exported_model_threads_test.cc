// SPDX-License-Identifier: Apache-2.0
// One exported model on many threads: each thread gets the results that it would get alone (CONTRACT EST-13).
#include <barrier>
#include <thread>

#include "evaluate/predictor_pool.h"
#include "exported_classifier.h"

namespace shoal::testing {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kThreads = 64, kCalls = 8;
#else
constexpr int kThreads = 1000, kCalls = 4;
#endif

/// Features that are different for each `number`, in batches of 1 to 5.
data::TensorMap numbered_features(int number) {
  const int64_t size = 1 + number % 5;
  Tensor x(DType::kFloat32, {size, 2});
  for (float& value : x.mutable_as<float>()) value = float(number % 97) / 16 - 3;
  return {{"x", std::move(x)}};
}

/// Calls work(thread) on `count` threads that begin together.
void together(int count, const std::function<void(int)>& work) {
  std::barrier begin(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct ExportedModelThreads : ExportedClassifier {
  /// The predictions of a second model from the same folder, on one thread.
  std::vector<std::map<std::string, std::string>> alone(const std::string& folder, int count,
                                                        const RuntimeOptions& runtime) {
    const auto model = load_exported_model(folder, runtime);
    std::vector<std::map<std::string, std::string>> all;
    for (int i = 0; i < count; ++i) all.push_back(bits(model->predict(numbered_features(i))));
    return all;
  }
};

TEST_F(ExportedModelThreads, EachGetsWhatItWouldGetAlone) {
  const std::string folder = write();
  for (const std::string& backend : {std::string("reference"), backends::default_backend()}) {
    const RuntimeOptions runtime{.backend = backend};
    const auto expected = alone(folder, kThreads + kCalls, runtime);
    const auto model = load_exported_model(folder, runtime);
    std::atomic<int> odd{0};
    together(kThreads, [&](int thread) {
      for (int call = 0; call < kCalls; ++call) {
        odd += bits(model->predict(numbered_features(thread + call))) != expected[size_t(thread + call)];
      }
    });
    EXPECT_EQ(odd, 0) << backend;
  }
}

TEST_F(ExportedModelThreads, TwoModelsOfOneFolderAreTwo) {
  const std::string folder = write();
  const auto expected = alone(folder, 40, kReference);
  const auto first = load_exported_model(folder, kReference), second = load_exported_model(folder, kReference);
  std::atomic<int> odd{0};
  together(4, [&](int thread) {
    for (int i = 0; i < 40; ++i) {
      odd += bits((thread % 2 == 0 ? first : second)->predict(numbered_features(i))) != expected[size_t(i)];
    }
  });
  EXPECT_EQ(odd, 0);
}

TEST_F(ExportedModelThreads, EachLoadsPredictsAndDropsAModelOfItsOwn) {
  const std::string folder = write();
  const auto expected = alone(folder, 8, kReference);
  std::atomic<int> odd{0};
  together(8, [&](int thread) {
    for (int i = 0; i < 4; ++i) {
      const auto own = load_exported_model(folder, kReference);
      odd += bits(own->predict(numbered_features(thread))) != expected[size_t(thread)];
    }
  });
  EXPECT_EQ(odd, 0);
}

TEST_F(ExportedModelThreads, TheFolderMayGoMeanwhile) {
  const std::string folder = write();
  const auto expected = alone(folder, 40, kReference);
  const auto model = load_exported_model(folder, kReference);
  std::atomic<int> odd{0};
  together(5, [&](int thread) {
    if (thread == 0) {
      std::filesystem::remove_all(folder);
      return;
    }
    for (int i = 0; i < 40; ++i) odd += bits(model->predict(numbered_features(i))) != expected[size_t(i)];
  });
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(odd, 0);
}

/// All threads share the vocabularies of text features. Wrong features on one thread are an error on that thread only.
TEST_F(ExportedModelThreads, WordsAndErrorsStayWithTheirThread) {
  const auto model = load_exported_model(SHOAL_TEST_DATA "/export_before_checksums", kReference);
  const std::vector<std::string> districts = {"centre", "harbour", "north", "south"};
  const auto flats = [&](int number) {
    return data::TensorMap{{"area", Tensor::of<float>({1}, {float(25 + number)})},
                           {"balcony", Tensor::of_strings({1}, {number % 2 == 0 ? "yes" : "no"})},
                           {"district", Tensor::of_strings({1}, {districts[size_t(number % 4)]})},
                           {"rent", Tensor::of<float>({1}, {float(300 + 7 * number)})},
                           {"rooms", Tensor::of<float>({1}, {float(number % 5)})}};
  };
  std::vector<std::map<std::string, std::string>> expected;
  for (int i = 0; i < 32; ++i) expected.push_back(bits(model->predict(flats(i))));
  std::atomic<int> odd{0};
  together(16, [&](int thread) {
    for (int i = 0; i < 32; ++i) {
      if (thread % 4 == 3) {
        odd += model->try_predict({{"area", Tensor::of<float>({1}, {1})}}).has_value();
      } else {
        odd += bits(model->predict(flats(i))) != expected[size_t(i)];
      }
    }
  });
  EXPECT_EQ(odd, 0);
}

TEST_F(ExportedModelThreads, SignaturesAndProfilesGoOnBesideEachOther) {
  const std::string folder = write();
  const auto model = load_exported_model(folder, kReference);
  const auto expected = bits(model->predict(numbered_features(3), "serving_default"));
  std::atomic<int> odd{0};
  together(6, [&](int thread) {
    for (int i = 0; i < 8; ++i) {
      if (thread == 0) {
        odd += model->profile({.batch = 4, .runs = 2}).runs != 2;
      } else {
        odd += bits(model->predict(numbered_features(3), "serving_default")) != expected;
      }
    }
  });
  EXPECT_EQ(odd, 0);
}

/// If memory runs out while a predictor is made, the thread that asked for it gets an error, and others may try again.
TEST_F(ExportedModelThreads, APredictorThatIsNotMadeTakesNoPlace) {
  int calls = 0;
  PredictorPool pool(nullptr, 2, [&]() -> Result<std::unique_ptr<Predictor>> {
    ++calls;
    if (calls == 2) throw std::bad_alloc();
    return unavailable("no memory");
  });
  const auto first = value_or_raise(pool.take());
  EXPECT_EQ(pool.take().error().kind(), ErrorKind::kUnavailable);
  EXPECT_THROW((void)pool.take(), std::bad_alloc);
  EXPECT_EQ(pool.take().error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace shoal::testing
