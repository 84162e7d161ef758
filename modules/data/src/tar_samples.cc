// SPDX-License-Identifier: Apache-2.0
// The samples of tar archives: adjacent files whose names are equal except for the extension.
#include <algorithm>
#include <optional>
#include <utility>

#include "record_stage.h"
#include "shoal/data/tar_files.h"
#include "tar_reader.h"

namespace shoal::data {
namespace {

constexpr const char* kSampleKey = "__key__";
constexpr size_t kSampleFilesMax = 4096;

/// The parts of the name of a sample's file.
struct MemberName {
  std::string_view key, extension;
};

/// True for names that WebDataset reserves for data about the archive: the first part of the path begins and ends with two
/// underscores.
bool is_about_the_archive(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

/// Splits a file's name. Returns nothing for a file that belongs to no sample.
std::optional<MemberName> split_member_name(std::string_view name) {
  if (is_about_the_archive(name)) return std::nullopt;
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return std::nullopt;
  return MemberName{name.substr(0, dot), name.substr(dot + 1)};
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = letter >= 'A' && letter <= 'Z' ? char(letter - 'A' + 'a') : letter;
  return lower;
}

/// A sample ends where the next sample begins. So when this format returns a sample, it has already read the headers of the
/// next sample's first file. It keeps that file's entry in `member_` for the next call. A saved position is the offset at
/// which that entry begins in the archive.
class TarFormat {
 public:
  explicit TarFormat(const TarOptions& options) : options_(options) {}
  Result<void> begin(RecordFile&) { return start_at({}); }
  Result<void> resume(RecordFile& file, uint64_t offset) {
    SHOAL_TRY_VOID(file.go_to(offset));
    return start_at({offset, entries_});
  }
  Result<bool> next(RecordFile& file, Element& element) {
    TensorMap features;
    SHOAL_TRY(const bool more, next_sample(file, &features));
    if (more) element = {std::move(features), {}};
    return more;
  }
  Result<bool> skip(RecordFile& file) { return next_sample(file, nullptr); }
  RandomKey fold_parameters(RandomKey key) const {
    for (const std::string& extension : options_.extensions) key = fold_in(key, extension);
    return fold_in(key, options_.extensions.size());
  }
  uint64_t next_offset() const { return next_place_.offset; }
  void save(StateWriter& out) const { out.number(next_place_.entries); }
  Result<void> load(StateReader& in) {
    SHOAL_TRY(entries_, in.number());
    return {};
  }

 private:
  struct Member {
    TarEntry entry;
    std::string key, extension;
  };

  Result<void> start_at(TarPlace place) {
    reader_.start_at(place);
    next_place_ = place;
    member_.reset();
    has_started_ = false;
    return {};
  }

  /// Finds the next sample that has a file to read, and reads its files if `features` is not null.
  Result<bool> next_sample(RecordFile& file, TensorMap* features) {
    if (!std::exchange(has_started_, true)) SHOAL_TRY_VOID(next_member(file));
    for (bool found = false; !found;) {
      file.begin_record();
      if (!member_) return false;
      const std::string key = member_->key;
      uint64_t bytes = 0;
      if (features) features->set(kSampleKey, Tensor::of_strings(Shape{}, {key}));
      do {
        if (is_wanted(member_->extension)) {
          found = true;
          if (features) SHOAL_TRY_VOID(add_file(file, *features, bytes));
        }
        SHOAL_TRY_VOID(next_member(file));
      } while (member_ && member_->key == key);
      next_place_ = reader_.place();
    }
    return true;
  }

  /// Moves `member_` to the next file that belongs to a sample.
  Result<void> next_member(RecordFile& file) {
    for (TarEntry entry;;) {
      member_.reset();
      SHOAL_TRY(const bool more, reader_.next(file, entry));
      if (!more) return {};
      const std::optional<MemberName> name = split_member_name(entry.name);
      if (!name) continue;
      member_ = Member{.entry = entry, .key = std::string(name->key), .extension = in_lower_case(name->extension)};
      return {};
    }
  }

  bool is_wanted(const std::string& extension) const {
    return options_.extensions.empty() || std::ranges::find(options_.extensions, extension) != options_.extensions.end();
  }

  Result<void> add_file(RecordFile& file, TensorMap& features, uint64_t& bytes) {
    const TarEntry& entry = member_->entry;
    if (member_->extension == kSampleKey) {
      return reader_.damaged(
          file, shown_tar_name(entry.name) + " has the extension __key__, which is the name of another feature");
    }
    if (features.find(member_->extension)) {
      return reader_.damaged(file, shown_tar_name(entry.name) + " is the second file of its sample with the extension " +
                                       shown_tar_name(member_->extension));
    }
    if (entry.bytes > uint64_t(options_.member_bytes_max)) {
      return reader_.damaged(file, shown_tar_name(entry.name) + " has " + std::to_string(entry.bytes) +
                                       " bytes, more than member_bytes_max, " + std::to_string(options_.member_bytes_max));
    }
    bytes += entry.bytes;
    if (bytes > uint64_t(options_.sample_bytes_max)) {
      return reader_.damaged(file, "the files of its sample up to " + shown_tar_name(entry.name) + " have " +
                                       std::to_string(bytes) + " bytes, more than sample_bytes_max, " +
                                       std::to_string(options_.sample_bytes_max));
    }
    if (features.size() > kSampleFilesMax) {
      return reader_.damaged(file, "its sample has more than " + std::to_string(kSampleFilesMax) + " files");
    }
    Tensor contents(DType::kString, Shape{});
    SHOAL_TRY_VOID(reader_.read(file, contents.mutable_strings()[0]));
    features.set(member_->extension, std::move(contents));
    return {};
  }

  TarOptions options_;
  TarReader reader_;
  TarPlace next_place_;           // The place where the next sample begins.
  uint64_t entries_ = 0;          // How many entries come before the position that is being restored.
  std::optional<Member> member_;  // The next file of a sample; none at the end of the archive.
  bool has_started_ = false;
};

}  // namespace

NodePtr make_tar_samples_node(std::vector<std::string> paths, TarOptions options) {
  return std::make_shared<RecordNode<TarFormat>>(std::move(paths), TarFormat(options), "tar_samples");
}

}  // namespace shoal::data
