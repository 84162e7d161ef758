// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text to learn from: a file, or a play that the program writes itself.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/data/element.h"

namespace text {

struct Text {
  std::string training;    ///< The first nine tenths.
  std::string test;        ///< The last tenth.
  std::string characters;  ///< Every character that occurs, once, sorted by its byte: the id of one is its place.
  bool generated = false;
};

/// `data_dir`/input.txt or `data_dir`/shakespeare/input.txt. None: a generated text, the same for the same seed. Raises
/// NotFound if there is no such file, DataLoss if it has fewer than 10,000 characters.
Text load_text(std::optional<std::string> data_dir, uint64_t seed);

/// A play of about `size` characters: speakers with names, sentences with subject, verb and object.
std::string generate_play(size_t size, uint64_t seed);

/// Pieces of `length` characters of the text, int64 [count, length] ids, and with each the characters that follow them, one
/// further on. A piece begins every `stride` characters; what is left over at the end is not used. Raises InvalidArgument
/// if there is not one piece, or for a character that is not among `characters`.
struct Windows {
  shoal::Tensor ids;
  shoal::Tensor next;
};
Windows cut(const std::string& text, const std::string& characters, int64_t length, int64_t stride);

}  // namespace text
