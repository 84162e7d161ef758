// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tests of simulated disks share: expectations for results, and files in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal::testing {

/// "ok", or the kind and the sentence.
template <class T>
std::string state_of(const Result<T>& result) {
  return result ? "ok" : std::string(to_string(result.error().kind())) + ": " + result.error().message();
}
#define EXPECT_OK(...) EXPECT_EQ(shoal::testing::state_of(__VA_ARGS__), "ok")
#define ASSERT_OK(...) ASSERT_EQ(shoal::testing::state_of(__VA_ARGS__), "ok")
#define EXPECT_FAILS(result, ...) \
  EXPECT_EQ(shoal::testing::state_of(result), shoal::testing::state_of(Result<void>(__VA_ARGS__)))

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline Result<void> write(Storage& storage, const std::string& path, std::string_view text) {
  SHOAL_TRY(auto file, storage.create(path));
  SHOAL_TRY_VOID(file->append(bytes_of(text)));
  return file->close();
}

inline Result<void> write_synced(Storage& storage, const std::string& path, std::string_view text) {
  SHOAL_TRY(auto file, storage.create(path));
  SHOAL_TRY_VOID(file->append(bytes_of(text)));
  SHOAL_TRY_VOID(file->sync());
  return file->close();
}

/// The contents, or what state_of() says.
inline std::string text_of(Storage& storage, const std::string& path) {
  const Result<std::string> text = storage.read_all(path);
  return text ? *text : state_of(text);
}

inline std::vector<std::string> names_in(Storage& storage, const std::string& folder) {
  const Result<std::vector<FileInfo>> entries = storage.list(folder);
  if (!entries) return {state_of(entries)};
  std::vector<std::string> names;
  for (const FileInfo& info : *entries) names.push_back(info.name + (info.is_folder ? "/" : ""));
  return names;
}

}  // namespace shoal::testing
