// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text to learn from: a file, or a play that the program writes itself.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/data/element.h"

namespace text {

struct Text {
  std::string training;    ///< The first nine tenths of the text.
  std::string test;        ///< The last tenth.
  std::string characters;  ///< Each character of the text once, sorted by its byte. A character's id is its position here.
  bool generated = false;
};

/// Loads `data_dir`/input.txt or `data_dir`/shakespeare/input.txt. Without `data_dir`: generates a play from `seed`. Raises
/// NotFound if there is no such file, DataLoss if it has fewer than 10,000 characters.
Text load_text(std::optional<std::string> data_dir, uint64_t seed);

/// Writes a play of about `size` characters: speakers with names, sentences with subject, verb and object.
std::string generate_play(size_t size, uint64_t seed);

/// Pieces of a text. `ids` holds the ids of their characters, int64 [count, length]; `next` holds for each character the
/// id of the character that follows it. A piece begins every `stride` characters, while enough characters follow.
/// Raises InvalidArgument unless the text has more than `length` characters and `characters` contains all of them.
struct Windows {
  shoal::Tensor ids;
  shoal::Tensor next;
};
Windows cut(const std::string& text, const std::string& characters, int64_t length, int64_t stride);

}  // namespace text
