#pragma once
/// A disk in memory that fails where a test wants it to, and that forgets what was not synced when its power goes.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal::checkpoint::testing {

enum class Fault {
  kNone,
  kError,             ///< one call fails and has no effect
  kErrorAfterEffect,  ///< one call has its effect and reports failure all the same
  kCrash,             ///< the process is gone: this call (half done) and all after it have no effect
  kDiskFull,          ///< from this call on nothing can be appended
};

/// One flat name space: folders exist as soon as something is in them. Not thread-safe.
class SimulatedDisk final : public Storage {
 public:
  /// The `call`-th changing call from now on (from 0) meets `fault`.
  void arm(Fault fault, int64_t call);
  void disarm() { fault_ = Fault::kNone; }
  /// Changing calls so far: create, append, sync, close, rename, remove, sync_folder.
  int64_t calls() const { return calls_; }
  /// Name changes not synced may be forgotten, bytes not synced may be cut, by `seed`. Odd seeds forget the latest changes
  /// (journaling file systems); even seeds forget any of them, since POSIX promises no order.
  void lose_power(uint64_t seed);

  /// All paths that exist.
  std::vector<std::string> paths() const;
  std::string& contents(const std::string& path);

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  friend class SimulatedFile;
  struct Node {
    std::string contents;
    size_t synced_bytes = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  /// Runs `effect` unless the fault says otherwise.
  template <class Effect>
  Result<void> change(const std::string& what, Effect effect, bool is_append = false);
  /// Forgets the name `gone` and gives the name `come` to `node`; either may be empty.
  struct NameChange {
    std::string gone;
    std::string come;
    std::shared_ptr<Node> node;
    void apply(Names& names) const;
  };
  void rename_now(NameChange change);

  Names names_;
  Names durable_;                    // the names that are on disk for sure
  std::vector<NameChange> changes_;  // since
  Fault fault_ = Fault::kNone;
  int64_t fault_call_ = 0;
  int64_t calls_ = 0;
};

}  // namespace shoal::checkpoint::testing
