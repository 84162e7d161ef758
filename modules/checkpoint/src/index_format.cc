// SPDX-License-Identifier: Apache-2.0
// The text of `<prefix>.index`, which docs/formats.md describes.
#include <algorithm>
#include <set>

#include "json_text.h"
#include "manifest_check.h"
#include "shoal/base/base64.h"
#include "shoal/checkpoint/checksum.h"
#include "shoal/checkpoint/manifest.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

using Json = json::Json;

constexpr int64_t kVersion = 2;
// An index is kFrameBegin, the checksum of the manifest's text, kFrameMiddle, that text, and kFrameEnd. A reader compares
// the three frames byte by byte, not as JSON, since the checksum covers the exact bytes of the manifest. Version 2
// (kFrameBeginPatched) is written only if a piece has patches, changes in another file: versions of Shoal before
// 2026-11-29 would ignore the patches.
constexpr std::string_view kFrameBegin = "{\"format\":\"shoal checkpoint\",\"version\":1,\"checksum\":\"";
constexpr std::string_view kFrameBeginPatched = "{\"format\":\"shoal checkpoint\",\"version\":2,\"checksum\":\"";
static_assert(kFrameBegin.size() == kFrameBeginPatched.size());
constexpr std::string_view kFrameMiddle = "\",\"manifest\":\n";
constexpr std::string_view kFrameEnd = "\n}\n";

/// Concatenates `parts`. (Chains of + that begin with a literal make g++ 12 warn of impossible copies.)
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

constexpr std::string_view kTables = "tables", kPatches = "patches";

std::string encode_file(const DataFile& file) {
  std::string text = joined("{\"name\":", json_string(file.name), ",\"bytes\":", std::to_string(file.bytes),
                            ",\"checksum\":\"", to_hex(file.checksum), "\"");
  if (file.kind != FileKind::kTensors) {
    text += joined(",\"kind\":\"", file.kind == FileKind::kTables ? kTables : kPatches, "\"");
  }
  return text += "}";
}

std::string encode_patch(const Patch& patch) {
  return joined("{\"file\":", std::to_string(patch.file), ",\"offset\":", std::to_string(patch.offset),
                ",\"count\":", std::to_string(patch.count), ",\"unit_bytes\":", std::to_string(patch.unit_bytes),
                ",\"bytes\":", std::to_string(patch.bytes), ",\"numbers_checksum\":\"", to_hex(patch.numbers_checksum),
                "\",\"checksum\":\"", to_hex(patch.checksum), "\"}");
}

std::string encode_piece(const Piece& piece) {
  std::string text =
      joined("{\"file\":", std::to_string(piece.file), ",\"offset\":", std::to_string(piece.offset),
             ",\"bytes\":", std::to_string(piece.bytes), ",\"row_begin\":", std::to_string(piece.row_begin),
             ",\"row_end\":", std::to_string(piece.row_end), ",\"checksum\":\"", to_hex(piece.checksum), "\"");
  for (size_t i = 0; i < piece.patches.size(); ++i) {
    text += joined(i == 0 ? ",\"patches\":[" : ",", encode_patch(piece.patches[i]));
  }
  text += piece.patches.empty() ? "}" : "]}";
  return text;
}

/// Appends encode(item) for each item, with a comma and a line break between them.
template <class Items, class Encode>
void append_list(std::string& text, const Items& items, Encode encode) {
  bool first = true;
  for (const auto& item : items) {
    text += first ? "\n" : ",\n";
    text += encode(item);
    first = false;
  }
}

std::string encode_tensor(const TensorEntry& tensor) {
  const std::vector<int64_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  std::string text = joined("{\"name\":", json_string(tensor.name), ",\"dtype\":\"", to_string(tensor.dtype),
                            "\",\"shape\":", json::text_of(Json(dims)));
  if (tensor.is_slot()) text += joined(",\"slot_of\":", json_string(tensor.slot_of));
  text += ",\"pieces\":[";
  for (size_t i = 0; i < tensor.pieces.size(); ++i) {
    if (i > 0) text += ',';
    text += encode_piece(tensor.pieces[i]);
  }
  text += "]}";
  return text;
}

std::string encode_body(const Manifest& manifest) {
  const SaveInfo& info = manifest.info;
  std::string text =
      joined("{\"global_step\":", std::to_string(manifest.global_step),
             ",\n\"save_time_ns\":", std::to_string(info.save_time.time_since_epoch().count()),
             ",\n\"numerics\":", json_string(info.numerics), ",\n\"fingerprint\":", json_string(info.fingerprint));
  // Empty texts are left out. The index is then the same as from older versions of Shoal, which knew no such texts.
  if (!info.run.empty()) text += joined(",\n\"run\":", json_string(info.run));
  if (!info.meaning.empty()) text += joined(",\n\"meaning\":", json_string(info.meaning));
  if (!info.rules.empty()) text += joined(",\n\"rest\":", json_string(info.rules));
  text += ",\n\"counters\":{";
  append_list(text, info.counters,
              [](const auto& counter) { return joined(json_string(counter.first), ":", std::to_string(counter.second)); });
  text += "},\n\"positions\":{";
  append_list(text, info.positions, [](const auto& position) {
    return joined(json_string(position.first), ":\"", to_base64(position.second), "\"");
  });
  text += "},\n\"ended\":[";
  append_list(text, info.ended, [](const std::string& trainer) { return json_string(trainer); });
  text += "],\n\"files\":[";
  append_list(text, manifest.files, encode_file);
  text += "],\n\"tensors\":[";
  append_list(text, manifest.tensors, encode_tensor);
  text += "]}";
  return text;
}

Result<uint64_t> checksum_member(const Json& object, const char* name = "checksum") {
  SHOAL_TRY(const std::string text, json::string_member(object, name));
  const std::optional<uint64_t> checksum = from_hex(text);
  if (!checksum) return json::must_be(name, "16 hexadecimal digits");
  return *checksum;
}

Result<DataFile> decode_file(const Json& object) {
  DataFile file;
  SHOAL_TRY(file.name, json::string_member(object, "name"));
  SHOAL_TRY(file.bytes, json::whole_member<uint64_t>(object, "bytes"));
  SHOAL_TRY(file.checksum, checksum_member(object));
  if (!object.contains("kind")) return file;
  SHOAL_TRY(const std::string kind, json::string_member(object, "kind"));
  if (kind != kTables && kind != kPatches) return data_loss("unknown kind of file '" + kind + "'");
  file.kind = kind == kTables ? FileKind::kTables : FileKind::kPatches;
  return file;
}

Result<Patch> decode_patch(const Json& object) {
  Patch patch;
  SHOAL_TRY(patch.file, json::whole_member<uint32_t>(object, "file"));
  SHOAL_TRY(patch.offset, json::whole_member<uint64_t>(object, "offset"));
  SHOAL_TRY(patch.count, json::whole_member<uint64_t>(object, "count"));
  SHOAL_TRY(patch.unit_bytes, json::whole_member<uint64_t>(object, "unit_bytes"));
  SHOAL_TRY(patch.bytes, json::whole_member<uint64_t>(object, "bytes"));
  SHOAL_TRY(patch.numbers_checksum, checksum_member(object, "numbers_checksum"));
  SHOAL_TRY(patch.checksum, checksum_member(object));
  return patch;
}

Result<Piece> decode_piece(const Json& object) {
  Piece piece;
  SHOAL_TRY(piece.file, json::whole_member<uint32_t>(object, "file"));
  SHOAL_TRY(piece.offset, json::whole_member<uint64_t>(object, "offset"));
  SHOAL_TRY(piece.bytes, json::whole_member<uint64_t>(object, "bytes"));
  SHOAL_TRY(piece.row_begin, json::whole_member<int64_t>(object, "row_begin", 0));
  SHOAL_TRY(piece.row_end, json::whole_member<int64_t>(object, "row_end", 0));
  SHOAL_TRY(piece.checksum, checksum_member(object));
  if (!object.contains("patches")) return piece;
  SHOAL_TRY(const Json* patches, json::list_member(object, "patches"));
  for (const Json& patch : *patches) {
    SHOAL_TRY(const Patch decoded, decode_patch(patch));
    piece.patches.push_back(decoded);
  }
  return piece;
}

Result<Shape> decode_shape(const Json& list) {
  std::vector<int64_t> dims;
  for (const Json& dim : list) {
    SHOAL_TRY(const int64_t size, json::whole_of<int64_t>(dim, "shape", 0));
    dims.push_back(size);
  }
  Result<Shape> shape = Shape::checked(dims);
  if (!shape) return data_loss(shape.error().message());
  return shape;
}

Result<TensorEntry> decode_tensor(const Json& object) {
  TensorEntry tensor;
  SHOAL_TRY(tensor.name, json::string_member(object, "name"));
  SHOAL_TRY(const std::string dtype, json::string_member(object, "dtype"));
  const std::optional<DType> known = dtype_from_string(dtype);
  if (!known) return data_loss("variable " + tensor.name + ": unknown dtype '" + dtype + "'");
  tensor.dtype = *known;
  SHOAL_TRY(const Json* dims, json::list_member(object, "shape"));
  SHOAL_TRY(tensor.shape, decode_shape(*dims));
  if (object.contains("slot_of")) {
    SHOAL_TRY(tensor.slot_of, json::string_member(object, "slot_of"));
  }
  SHOAL_TRY(const Json* pieces, json::list_member(object, "pieces"));
  for (const Json& piece : *pieces) {
    SHOAL_TRY(Piece decoded, decode_piece(piece));
    tensor.pieces.push_back(decoded);
  }
  return tensor;
}

/// Reads the list "ended", which checkpoints of versions before 2026-11-27 do not have.
Result<std::set<std::string>> decode_ended(const Json& object) {
  std::set<std::string> ended;
  if (!object.contains("ended")) return ended;
  SHOAL_TRY(const Json* list, json::list_member(object, "ended"));
  for (const Json& trainer : *list) {
    if (!trainer.is_string()) return data_loss("ended: a trainer is not a text");
    ended.insert(trainer.get<std::string>());
  }
  return ended;
}

Result<SaveInfo> decode_info(const Json& object) {
  SaveInfo info;
  SHOAL_TRY(const int64_t save_time_ns, json::whole_member<int64_t>(object, "save_time_ns", 0));
  info.save_time = WallTime(Duration(save_time_ns));
  SHOAL_TRY(info.numerics, json::string_member(object, "numerics"));
  SHOAL_TRY(info.fingerprint, json::string_member(object, "fingerprint"));
  if (object.contains("run")) {
    SHOAL_TRY(info.run, json::string_member(object, "run"));
  }
  if (object.contains("meaning")) {
    SHOAL_TRY(info.meaning, json::string_member(object, "meaning"));
  }
  if (object.contains("rest")) {
    SHOAL_TRY(info.rules, json::string_member(object, "rest"));
  }
  SHOAL_TRY(const Json* counters, json::object_member(object, "counters"));
  for (const auto& [name, value] : counters->items()) {
    SHOAL_TRY(info.counters[name], json::whole_of<uint64_t>(value, name));
  }
  SHOAL_TRY(const Json* positions, json::object_member(object, "positions"));
  for (const auto& [trainer, value] : positions->items()) {
    const auto bytes = value.is_string() ? from_base64(value.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) return data_loss("the position of " + trainer + " is not base64");
    info.positions[trainer] = *bytes;
  }
  SHOAL_TRY(info.ended, decode_ended(object));
  return info;
}

Result<Manifest> decode_body(const Json& object) {
  Manifest manifest;
  SHOAL_TRY(manifest.global_step, json::whole_member<int64_t>(object, "global_step", 0));
  SHOAL_TRY(manifest.info, decode_info(object));
  SHOAL_TRY(const Json* files, json::list_member(object, "files"));
  for (const Json& file : *files) {
    SHOAL_TRY(DataFile decoded, decode_file(file));
    manifest.files.push_back(std::move(decoded));
  }
  SHOAL_TRY(const Json* tensors, json::list_member(object, "tensors"));
  for (const Json& tensor : *tensors) {
    SHOAL_TRY(TensorEntry decoded, decode_tensor(tensor));
    manifest.tensors.push_back(std::move(decoded));
  }
  if (auto wrong = contradiction_in(manifest)) return data_loss(*wrong);
  return manifest;
}

/// The error for a text that does not begin and end as an index of a known version does. The text is the index of a newer
/// version, or no index at all.
Error unframed(std::string_view text) {
  if (const Result<Json> object = json::parse_object(text)) {
    const Result<int64_t> version = json::whole_member<int64_t>(*object, "version");
    if (version && *version > kVersion) {
      return failed_precondition("format version " + std::to_string(*version) + ", but this build reads up to " +
                                 std::to_string(kVersion) + "; use a newer Shoal");
    }
  }
  return data_loss("the file is not the index of a checkpoint, or was cut");
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  const std::string body = encode_body(manifest);
  const auto is_patched = [](const Piece& piece) { return !piece.patches.empty(); };
  const bool patched = std::ranges::any_of(
      manifest.tensors, [&](const TensorEntry& tensor) { return std::ranges::any_of(tensor.pieces, is_patched); });
  return joined(patched ? kFrameBeginPatched : kFrameBegin, to_hex(checksum_of(body)), kFrameMiddle, body, kFrameEnd);
}

Result<Manifest> decode_manifest(std::string_view text) {
  constexpr size_t kBodyBegin = kFrameBegin.size() + 16 + kFrameMiddle.size();
  if (text.size() < kBodyBegin + kFrameEnd.size() ||
      !(text.starts_with(kFrameBegin) || text.starts_with(kFrameBeginPatched)) || !text.ends_with(kFrameEnd) ||
      text.substr(kFrameBegin.size() + 16, kFrameMiddle.size()) != kFrameMiddle) {
    return unframed(text);
  }
  const std::string_view body = text.substr(kBodyBegin, text.size() - kBodyBegin - kFrameEnd.size());
  const std::string_view expected = text.substr(kFrameBegin.size(), 16);
  const std::string found = to_hex(checksum_of(body));
  if (found != expected) return data_loss("checksum " + found + ", expected " + std::string(expected));
  SHOAL_TRY(const Json object, json::parse_object(body));
  return decode_body(object);
}

}  // namespace shoal::checkpoint
