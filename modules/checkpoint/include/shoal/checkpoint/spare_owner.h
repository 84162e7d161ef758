// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file `owner.json` in a spare folder, which has the newest checkpoint of a model_dir that could not be written to.
/// The file says which model_dir that is, and which checkpoints the one in the spare folder goes on from. A copied model_dir
/// keeps the id of its run, so the id alone does not tell whose checkpoint it is.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// Returns 16 hexadecimal digits computed from the global step and the checksums of all tensors. A checkpoint that is saved
/// again without a step in between has the same digits, unless its tensors are divided into other pieces: a table may be
/// written whole, or by its changes.
std::string contents_id(const Manifest& manifest);

struct SpareOwner {
  /// How many checkpoints `follows` has at most: the newest ones.
  static constexpr size_t kFollowsMax = 8;

  std::string model_dir = {};  ///< The absolute path of the model_dir, any bytes.
  /// The newest checkpoints that model_dir had when the one in the spare folder was written: contents_id() by global step.
  std::map<int64_t, std::string> follows = {};
  friend bool operator==(const SpareOwner&, const SpareOwner&) = default;

  /// True if the state in `manifest` is one of `follows`.
  bool follows_on(const Manifest& manifest) const;
  /// Adds a checkpoint to `follows`, and removes those of later steps, which belong to a state that training has gone back
  /// from.
  void add(const Manifest& manifest);
};

/// Writes one line of JSON:
/// {"version":1,"model_dir":"/home/pi/m","follows":{"model.ckpt-100":"5d0e...","model.ckpt-200":"91aa..."}}.
std::string encode_spare_owner(const SpareOwner& owner);
/// Reads the line that encode_spare_owner() writes. DataLoss describes the mistake. Unknown members are ignored.
Result<SpareOwner> decode_spare_owner(std::string_view text);

/// Reads owner.json of the spare folder `folder`. Nothing if the file does not exist, as in spare folders of older versions.
/// DataLoss names the file if it is damaged. Other errors come from reading.
Result<std::optional<SpareOwner>> read_spare_owner(Storage& storage, const std::string& folder);
/// Writes owner.json to a temporary file, syncs and renames it. The folder has to exist. The error Unavailable names the path
/// and the cause.
Result<void> write_spare_owner(Storage& storage, const std::string& folder, const SpareOwner& owner);
/// Removes owner.json. No error if there is none.
Result<void> remove_spare_owner(Storage& storage, const std::string& folder);

}  // namespace shoal::checkpoint
