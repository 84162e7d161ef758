// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads small files that a folder need not have.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/storage.h"

namespace shoal::checkpoint {

/// Reads the file `path` and decodes its text. Nothing if the file does not exist. An error of `decode` comes with the context
/// `what`, such as the path. Other errors come from reading: a file of more than `bytes_max` bytes is one of them.
template <class T>
Result<std::optional<T>> read_optional_file(Storage& storage, const std::string& path, uint64_t bytes_max,
                                            Result<T> (*decode)(std::string_view), const std::string& what) {
  Result<std::string> text = storage.read_all(path, bytes_max);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return std::optional<T>();
  if (!text) return std::move(text).error();
  Result<T> decoded = decode(*text);
  if (!decoded) return std::move(decoded).error().with_context(what);
  return std::optional<T>(std::move(decoded).value());
}

}  // namespace shoal::checkpoint
