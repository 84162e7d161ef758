// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

namespace shoal::data {

Result<int64_t> Stage::skip(int64_t count) {
  Item item;
  for (int64_t done = 0; done < count; ++done) {
    SHOAL_TRY(const bool more, next(item));
    if (!more) return done;
  }
  return count;
}

namespace {

// The lower bits of a RecordId are a line, the bits above them are the file's number.
constexpr int kLineBits = 40;
constexpr uint64_t kNumbered = uint64_t(1) << (kLineBits - 1);  // If this bit is set, the bits below are a record number.
constexpr uint64_t kLineMax = kNumbered - 1;

}  // namespace

StageContext::StageContext(StageContext& parent, RandomKey key)
    : env(parent.env), options(parent.options), stopping(parent.stop), parent_(&parent), key_(key) {}

uint64_t StageContext::add_files(const std::vector<std::string>& paths) {
  StageContext* root = this;
  while (root->parent_) root = root->parent_;
  const std::lock_guard lock(root->files_mutex_);
  const uint64_t first = root->files_.size();
  if (!parent_) {
    for (const std::string& path : paths) root->files_.push_back(&path);
    return first;
  }
  // Each pass of flat_map() makes its inner datasets anew, and so adds their files again. A list of files that an earlier
  // pass has added keeps its numbers, so that the list of all files does not grow with each pass.
  std::string list;
  for (const std::string& path : paths) list.append(path).push_back('\0');
  const auto [known, is_new] = root->kept_lists_.try_emplace(std::move(list), first);
  if (!is_new) return known->second;
  for (const std::string& path : paths) root->files_.push_back(&root->kept_paths_.emplace_back(path));
  return first;
}

RecordId StageContext::record_at(uint64_t file, uint64_t line) {
  return line > kLineMax || file > UINT64_MAX >> kLineBits ? 0 : file << kLineBits | line;
}

RecordId StageContext::numbered_record(uint64_t file, uint64_t number) {
  const RecordId record = record_at(file, number);
  return record == 0 ? 0 : record | kNumbered;
}

std::string StageContext::place_of(RecordId record) const {
  if (record == 0) return {};
  if (parent_) return parent_->place_of(record);
  const std::lock_guard lock(files_mutex_);
  return *files_.at(size_t(record >> kLineBits)) + ((record & kNumbered) != 0 ? ", record " : ", line ") +
         std::to_string(record & kLineMax);
}

RandomKey StageContext::next_random_key(std::optional<int64_t> operation_seed) {
  const uint64_t k = random_operations_++;
  const bool configured = options.seed.has_value();
  if (operation_seed) {  // Every trainer uses this seed, wherever the stage is in the pipeline.
    const RandomKey key = configured ? fold_in(RandomKey(*options.seed), "data/both") : fold_in(RandomKey(0), "data/op");
    return fold_in(key, uint64_t(*operation_seed));
  }
  if (key_) return fold_in(*key_, k);
  if (const std::optional<int64_t>& seed = configured ? options.seed : options.run_seed) {
    return fold_in(fold_in(fold_in(RandomKey(*seed), "data/trainer"), uint64_t(options.trainer_index)), k);
  }
  if (!fresh_) fresh_ = env.entropy();
  return fold_in(fold_in(*fresh_, "data/fresh"), k);
}

}  // namespace shoal::data
