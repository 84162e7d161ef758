// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/spare_owner.h"

#include "json_text.h"
#include "optional_file.h"
#include "shoal/checkpoint/checksum.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

constexpr int64_t kOwnerVersion = 1;
constexpr uint64_t kOwnerBytesMax = uint64_t(1) << 20;

std::string owner_path(const std::string& folder) { return join_path(folder, "owner.json"); }

}  // namespace

std::string contents_id(const Manifest& manifest) {
  std::string text = std::to_string(manifest.global_step);
  for (const TensorEntry& tensor : manifest.tensors) {
    text.append("\n").append(tensor.name);
    for (const Piece& piece : tensor.pieces) {
      text.append(" ").append(std::to_string(piece.row_begin)).append(":").append(to_hex(piece.checksum));
      for (const Patch& patch : piece.patches) {
        text.append("+").append(to_hex(patch.numbers_checksum)).append(to_hex(patch.checksum));
      }
    }
  }
  return to_hex(checksum_of(text));
}

bool SpareOwner::follows_on(const Manifest& manifest) const {
  const auto found = follows.find(manifest.global_step);
  return found != follows.end() && found->second == contents_id(manifest);
}

void SpareOwner::add(const Manifest& manifest) {
  follows.erase(follows.lower_bound(manifest.global_step), follows.end());
  follows[manifest.global_step] = contents_id(manifest);
  while (follows.size() > kFollowsMax) follows.erase(follows.begin());
}

std::string encode_spare_owner(const SpareOwner& owner) {
  std::string text = "{\"version\":" + std::to_string(kOwnerVersion);
  text.append(",\"model_dir\":").append(json::text_of(json::exact_text(owner.model_dir)));
  text.append(",\"follows\":{");
  for (std::string_view comma = ""; const auto& [step, id] : owner.follows) {
    text.append(comma).append(json_string(checkpoint_name(step))).append(":").append(json_string(id));
    comma = ",";
  }
  return text.append("}}\n");
}

Result<SpareOwner> decode_spare_owner(std::string_view text) {
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  SHOAL_TRY(const int64_t version, json::whole_member<int64_t>(object, "version", 1));
  if (version > kOwnerVersion) {
    return data_loss("format version " + std::to_string(version) + ", but this build reads up to " +
                     std::to_string(kOwnerVersion) + "; use a newer Shoal");
  }
  SpareOwner owner;
  SHOAL_TRY(const json::Json* model_dir, json::member(object, "model_dir"));
  SHOAL_TRY(owner.model_dir, json::exact_text_of(*model_dir, "model_dir"));
  if (owner.model_dir.empty()) return json::must_be("model_dir", "a path");
  SHOAL_TRY(const json::Json* follows, json::object_member(object, "follows"));
  for (const auto& [name, value] : follows->items()) {
    const std::optional<int64_t> step = step_of(name);
    if (!step) return json::must_be("a name in follows", "model.ckpt-<step>");
    SHOAL_TRY(const std::string id, json::string_of(value, name));
    if (!from_hex(id)) return json::must_be(name, "16 hexadecimal digits");
    owner.follows[*step] = id;
  }
  return owner;
}

Result<std::optional<SpareOwner>> read_spare_owner(Storage& storage, const std::string& folder) {
  const std::string path = owner_path(folder);
  return read_optional_file(storage, path, kOwnerBytesMax, &decode_spare_owner, path);
}

Result<void> write_spare_owner(Storage& storage, const std::string& folder, const SpareOwner& owner) {
  Result<void> written = storage.write_atomically(owner_path(folder), encode_spare_owner(owner));
  if (written) return {};
  return std::move(written).error().with_context("the owner of the spare folder " + folder + " was not written");
}

Result<void> remove_spare_owner(Storage& storage, const std::string& folder) {
  Result<void> removed = storage.remove(owner_path(folder));
  if (!removed && removed.error().kind() != ErrorKind::kNotFound) return removed;
  return {};
}

}  // namespace shoal::checkpoint
