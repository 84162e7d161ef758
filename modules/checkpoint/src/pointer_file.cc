// SPDX-License-Identifier: Apache-2.0
// The text file `checkpoint`, in the form that TensorFlow's users know.
#include "shoal/checkpoint/directory.h"

#include "optional_file.h"

namespace shoal::checkpoint {
namespace {

constexpr std::string_view kNewestKey = "model_checkpoint_path";
constexpr std::string_view kRetainedKey = "all_model_checkpoint_paths";
constexpr uint64_t kPointerBytesMax = 64 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// Reads one line `key: "value"`. The value is checked only for known keys.
Result<void> take_line(std::string_view line, PointerFile& pointer) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return data_loss("is not of the form key: \"value\"");
  const std::string_view key = trimmed(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (key != kNewestKey && key != kRetainedKey) return {};
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return data_loss("has no name in quotes");
  const std::string name(value.substr(1, value.size() - 2));
  // Shoal deletes old checkpoints by these names, so the file must not name anything else.
  if (!step_of(name)) return data_loss("names '" + name + "', which is not model.ckpt-<step> in this folder");
  if (key == kRetainedKey) {
    pointer.retained.push_back(name);
  } else if (!pointer.newest.empty()) {
    return data_loss("is the second " + std::string(kNewestKey));
  } else {
    pointer.newest = name;
  }
  return {};
}

}  // namespace

std::string encode_pointer(const PointerFile& pointer) {
  std::string text = std::string(kNewestKey) + ": \"" + pointer.newest + "\"\n";
  for (const std::string& name : pointer.retained) text += std::string(kRetainedKey) + ": \"" + name + "\"\n";
  return text;
}

Result<PointerFile> decode_pointer(std::string_view text) {
  PointerFile pointer;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (Result<void> taken = take_line(line, pointer); !taken) {
      return data_loss("line " + std::to_string(line_number) + " " + taken.error().message());
    }
  }
  if (pointer.newest.empty()) return data_loss("has no line " + std::string(kNewestKey));
  // The file's list of checkpoints may lack the newest one (TensorFlow writes no list when it keeps all), which is then
  // added.
  bool listed = false;
  for (const std::string& name : pointer.retained) listed = listed || name == pointer.newest;
  if (!listed) pointer.retained.push_back(pointer.newest);
  return pointer;
}

Result<std::optional<PointerFile>> read_pointer(Storage& storage, const std::string& model_dir) {
  const std::string path = join_path(model_dir, "checkpoint");
  return read_optional_file(storage, path, kPointerBytesMax, &decode_pointer, "checkpoint file " + path);
}

}  // namespace shoal::checkpoint
