// SPDX-License-Identifier: Apache-2.0
// list_files: the names of files that match patterns.
#include <fnmatch.h>

#include "indexed_stage.h"
#include "nodes.h"

namespace shoal::data {
namespace {

bool has_wildcard(std::string_view part) { return part.find_first_of("*?[") != std::string_view::npos; }

/// Adds the files that `pattern` matches below `folder` ("" or a path with a slash at the end).
Result<void> expand(const StageContext& context, const std::string& folder, std::string_view pattern,
                    std::vector<std::string>& found) {
  SHOAL_TRY_VOID(check_stopping(context));
  Storage& storage = context.env.storage();
  const size_t slash = pattern.find('/');
  const std::string part(pattern.substr(0, slash));
  const bool is_last = slash == std::string_view::npos;
  const std::string_view rest = is_last ? std::string_view() : pattern.substr(slash + 1);
  if (!has_wildcard(part)) {
    if (!is_last) return expand(context, folder + part + "/", rest, found);
    if (storage.exists(folder + part)) found.push_back(folder + part);
    return {};
  }
  Result<std::vector<FileInfo>> files = storage.list(folder.empty() ? "." : folder);
  if (!files && files.error().kind() == ErrorKind::kNotFound) return {};
  if (!files) return std::move(files).error();
  for (const FileInfo& file : *files) {
    if (file.is_folder == is_last) continue;
    if (::fnmatch(part.c_str(), file.name.c_str(), FNM_PERIOD) != 0) continue;
    if (is_last) {
      found.push_back(folder + file.name);
    } else {
      SHOAL_TRY_VOID(expand(context, folder + file.name + "/", rest, found));
    }
  }
  return {};
}

class FilesStage final : public IndexedStage {
 public:
  FilesStage(const StageContext& context, std::vector<std::string> names)
      : IndexedStage(context, int64_t(names.size())), names_(std::move(names)) {
    for (const std::string& name : names_) hash_ = fold_in(hash_, name);
  }
  Result<void> save(StateWriter& out) const override {
    out.number(hash_);
    return IndexedStage::save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(const uint64_t hash, in.number());
    if (hash != hash_) {
      return failed_precondition("list_files: other files match now (" + std::to_string(names_.size()) +
                                 ") than when the input position was saved");
    }
    return IndexedStage::load(in);
  }

 private:
  void give(int64_t index, Item& item) override {
    item.own() = {TensorMap(Tensor::of_strings(Shape{}, {names_[size_t(index)]})), {}};
  }
  const std::vector<std::string> names_;
  RandomKey hash_ = 0;
};

class ListFilesNode final : public Node {
 public:
  explicit ListFilesNode(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    std::vector<std::string> names;
    for (const std::string& pattern : patterns_) {
      Result<void> expanded = expand(context, "", pattern, names);
      if (!expanded) return std::move(expanded).error().with_context("list_files \"" + pattern + "\"");
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty()) return not_found("list_files: no file matches " + quoted_patterns());
    return std::make_unique<FilesStage>(context, std::move(names));
  }
  std::string_view kind() const override { return "list_files"; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, "list_files");
    for (const std::string& pattern : patterns_) key = fold_in(key, pattern);
    return key;
  }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }

 private:
  std::string quoted_patterns() const {
    std::string text;
    for (const std::string& pattern : patterns_) text += (text.empty() ? "\"" : ", \"") + pattern + "\"";
    return text;
  }
  std::vector<std::string> patterns_;
};

}  // namespace

NodePtr make_list_files_node(std::vector<std::string> patterns) {
  return std::make_shared<ListFilesNode>(std::move(patterns));
}

}  // namespace shoal::data
