#include "simulated_disk.h"

#include <algorithm>
#include <random>

namespace shoal::checkpoint::testing {

template <class Effect>
Result<void> SimulatedDisk::change(const std::string& what, Effect effect, bool is_append) {
  const int64_t call = calls_++;
  const Error failed = unavailable("cannot " + what + ": simulated fault");
  switch (fault_) {
    case Fault::kNone: break;
    case Fault::kError:
      if (call == fault_call_) return failed;
      break;
    case Fault::kErrorAfterEffect:
      if (call == fault_call_) return effect(false), failed;
      break;
    case Fault::kCrash:
      if (call == fault_call_) effect(true);
      if (call >= fault_call_) return failed;
      break;
    case Fault::kDiskFull:
      if (call >= fault_call_ && is_append) return unavailable("cannot " + what + ": No space left on device");
      break;
  }
  effect(false);
  return {};
}

class SimulatedFile final : public WritableFile {
 public:
  SimulatedFile(SimulatedDisk& disk, std::string path, std::shared_ptr<SimulatedDisk::Node> node)
      : disk_(disk), path_(std::move(path)), node_(std::move(node)) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return disk_.change("write " + path_,
                        [&](bool half) { node_->contents += text.substr(0, half ? text.size() / 2 : text.size()); }, true);
  }
  Result<void> flush() override { return {}; }
  Result<void> sync() override {
    return disk_.change("sync " + path_, [&](bool half) {
      if (!half) node_->synced_bytes = node_->contents.size();
    });
  }
  Result<void> close() override { return disk_.change("close " + path_, [](bool) {}); }

 private:
  SimulatedDisk& disk_;
  std::string path_;
  std::shared_ptr<SimulatedDisk::Node> node_;
};

namespace {

class OpenFile final : public ReadableFile {
 public:
  explicit OpenFile(std::string contents) : contents_(std::move(contents)) {}
  uint64_t size() const override { return contents_.size(); }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > contents_.size() || out.size() > contents_.size() - offset) return data_loss("the file was cut");
    std::copy_n(reinterpret_cast<const std::byte*>(contents_.data()) + offset, out.size(), out.data());
    return {};
  }

 private:
  std::string contents_;
};

}  // namespace

void SimulatedDisk::arm(Fault fault, int64_t call) {
  fault_ = fault;
  fault_call_ = calls_ + call;
}

void SimulatedDisk::lose_power(uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t kept = size_t(random() % (changes_.size() + 1));
  names_ = durable_;
  for (size_t i = 0; i < changes_.size(); ++i) {
    const bool survives = seed % 2 == 1 ? i < kept : random() % 2 == 0;
    if (survives) changes_[i].apply(names_);
  }
  durable_ = names_;
  changes_.clear();
  for (auto& [path, node] : names_) {
    const size_t unsynced = node->contents.size() - node->synced_bytes;
    node->contents.resize(node->synced_bytes + size_t(random() % (unsynced + 1)));
    node->synced_bytes = node->contents.size();
  }
}

void SimulatedDisk::NameChange::apply(Names& names) const {
  if (!gone.empty()) names.erase(gone);
  if (!come.empty()) names[come] = node;
}

void SimulatedDisk::rename_now(NameChange change) {
  change.apply(names_);
  changes_.push_back(std::move(change));
}

std::vector<std::string> SimulatedDisk::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : names_) paths.push_back(path);
  return paths;
}

std::string& SimulatedDisk::contents(const std::string& path) {
  SHOAL_CHECK(names_.contains(path));
  return names_[path]->contents;
}

Result<std::unique_ptr<WritableFile>> SimulatedDisk::create(const std::string& path) {
  auto node = std::make_shared<Node>();
  SHOAL_TRY_VOID(change("create " + path, [&](bool) { rename_now({"", path, node}); }));
  return std::unique_ptr<WritableFile>(std::make_unique<SimulatedFile>(*this, path, node));
}

Result<std::unique_ptr<WritableFile>> SimulatedDisk::append(const std::string& path) {
  if (!names_.contains(path)) return create(path);
  return std::unique_ptr<WritableFile>(std::make_unique<SimulatedFile>(*this, path, names_[path]));
}

Result<std::unique_ptr<ReadableFile>> SimulatedDisk::open(const std::string& path) {
  const auto at = names_.find(path);
  if (at == names_.end()) return not_found("cannot open " + path + ": No such file");
  return std::unique_ptr<ReadableFile>(std::make_unique<OpenFile>(at->second->contents));
}

Result<void> SimulatedDisk::rename(const std::string& from, const std::string& to) {
  if (!names_.contains(from)) return not_found("cannot rename " + from + ": No such file");
  return change("rename " + from, [&](bool half) {
    if (!half) rename_now({from, to, names_[from]});
  });
}

Result<void> SimulatedDisk::remove(const std::string& path) {
  if (!names_.contains(path)) return not_found("cannot remove " + path + ": No such file");
  return change("remove " + path, [&](bool half) {
    if (!half) rename_now({path, "", nullptr});
  });
}

Result<void> SimulatedDisk::remove_all(const std::string& path) {
  for (const std::string& each : paths()) {
    if (each.starts_with(path + "/")) SHOAL_TRY_VOID(remove(each));
  }
  return {};
}

Result<void> SimulatedDisk::make_folders(const std::string&) { return {}; }

Result<void> SimulatedDisk::sync_folder(const std::string& path) {
  return change("sync folder " + path, [&](bool half) {
    if (half) return;
    durable_ = names_;
    changes_.clear();
  });
}

Result<std::vector<FileInfo>> SimulatedDisk::list(const std::string& path) {
  std::vector<FileInfo> files;
  for (const auto& [each, node] : names_) {
    if (each.starts_with(path + "/")) files.push_back({each.substr(path.size() + 1), false, node->contents.size(), {}});
  }
  return files;
}

bool SimulatedDisk::exists(const std::string& path) { return names_.contains(path); }

}  // namespace shoal::checkpoint::testing
