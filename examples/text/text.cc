// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/data/text_files.h"

namespace text {
namespace {

constexpr size_t kGeneratedCharacters = 1'000'000;
constexpr size_t kCharactersMin = 10'000;

std::string read_file(const std::string& folder) {
  const auto storage = shoal::make_file_storage();
  for (const std::string& base : {folder, shoal::join_path(folder, "shakespeare")}) {
    const std::string path = shoal::join_path(base, "input.txt");
    if (!storage->exists(path)) continue;
    std::string contents = shoal::value_or_raise(shoal::data::read_text(*storage, path));
    if (contents.size() >= kCharactersMin) return contents;
    shoal::raise(shoal::data_loss(path + " has " + std::to_string(contents.size()) + " characters; at least " +
                                  std::to_string(kCharactersMin) + " are needed to learn anything"));
  }
  shoal::raise(
      shoal::not_found("no input.txt in " + folder + " or " + folder +
                       "/shakespeare; --data-dir names the folder of the text. Without it, and without SHOAL_DATA, "
                       "the program writes its own"));
}

}  // namespace

Text load_text(std::optional<std::string> data_dir, uint64_t seed) {
  const std::string all = data_dir ? read_file(*data_dir) : generate_play(kGeneratedCharacters, seed);
  const std::set<char> different(all.begin(), all.end());
  const size_t training = all.size() / 10 * 9;
  return {all.substr(0, training), all.substr(training), std::string(different.begin(), different.end()), !data_dir};
}

Windows cut(const std::string& text, const std::string& characters, int64_t length, int64_t stride) {
  const int64_t last_start = int64_t(text.size()) - 1 - length;
  if (length < 1 || stride < 1 || last_start < 0) {
    shoal::raise(shoal::invalid_argument("a text of " + std::to_string(text.size()) + " characters has no piece of " +
                                         std::to_string(length) + " and one to follow, every " + std::to_string(stride)));
  }
  std::vector<int64_t> all;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t id = characters.find(text[i]);
    if (id == std::string::npos) {
      shoal::raise(shoal::invalid_argument("character " + std::to_string(i) + " of the text is not among the " +
                                           std::to_string(characters.size()) + " that the model knows"));
    }
    all.push_back(int64_t(id));
  }
  const int64_t count = last_start / stride + 1;
  Windows windows{shoal::Tensor(shoal::DType::kInt64, {count, length}),
                  shoal::Tensor(shoal::DType::kInt64, {count, length})};
  for (int64_t i = 0; i < count; ++i) {
    const auto start = all.begin() + i * stride;
    std::copy_n(start, length, windows.ids.mutable_as<int64_t>().begin() + i * length);
    std::copy_n(start + 1, length, windows.next.mutable_as<int64_t>().begin() + i * length);
  }
  return windows;
}

}  // namespace text
