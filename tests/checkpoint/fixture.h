// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tests of checkpoints share: an expectation for results, a folder of their own, and one-line saves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/base/storage.h"
#include "shoal/checkpoint/directory.h"

namespace shoal::checkpoint::testing {

#define EXPECT_OK(...) EXPECT_PRED1(shoal::checkpoint::testing::is_ok, shoal::checkpoint::testing::state_of(__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_PRED1(shoal::checkpoint::testing::is_ok, shoal::checkpoint::testing::state_of(__VA_ARGS__))
template <class T>
std::string state_of(const Result<T>& result) {
  return result ? "ok" : result.error().message();
}
inline bool is_ok(const std::string& state) { return state == "ok"; }

/// The error's kind and that its sentence contains `part`.
template <class T>
::testing::AssertionResult fails_with(const Result<T>& result, ErrorKind kind, const std::string& part) {
  if (result) return ::testing::AssertionFailure() << "no error";
  const Error& error = result.error();
  if (error.kind() == kind && error.message().find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(error.kind()) << ": " << error.message();
}

/// Variable "w" [3, 2] and its slot "w/m", every element `value`.
inline Result<Saved> save(Storage& storage, const std::string& model_dir, int64_t step, float value,
                          CommitOptions options = {}) {
  const Tensor weights = Tensor::of<float>({3, 2}, std::vector<float>(6, value));
  const std::vector<Writer::NamedTensor> tensors{{"w", weights.view()}, {"w/m", weights.view(), "w"}};
  SHOAL_TRY(auto writer, Writer::begin(storage, model_dir, step));
  SHOAL_TRY_VOID(writer->add_tensors(tensors));
  return writer->commit({.counters = {{"w", uint64_t(step)}}}, std::move(options));
}

/// The value that save() stored, all elements alike.
inline Result<float> saved_value(const Reader& reader) {
  SHOAL_TRY(const Tensor weights, reader.read_tensor("w"));
  SHOAL_TRY(const Tensor slot, reader.read_tensor("w/m"));
  const float value = weights.as<float>()[0];
  for (const Tensor* tensor : {&weights, &slot}) {
    for (float element : tensor->as<float>()) {
      if (element != value) return data_loss("torn: elements of different saves");
    }
  }
  return value;
}

inline std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot run " + command;
  std::array<char, 4096> block;
  for (size_t count; (count = fread(block.data(), 1, block.size(), pipe)) > 0;) output.append(block.data(), count);
  const int status = pclose(pipe);
  if (status != 0) output += "status " + std::to_string(status);
  return output;
}

inline bool has_python() { return output_of("python3 -c 'print(1)'") == "1\n"; }

}  // namespace shoal::checkpoint::testing
