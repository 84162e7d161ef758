// The text of `<prefix>.index`: encode_manifest() and decode_manifest(). docs/formats.md describes it.
#include <algorithm>

#include "checksum.h"
#include "json_fields.h"
#include "manifest_check.h"
#include "shoal/base/base64.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {
namespace {

constexpr int64_t kVersion = 1;
// The checksum covers the bytes between these two, so the frame is compared as text.
constexpr std::string_view kFrameBegin = "{\"format\":\"shoal checkpoint\",\"version\":1,\"checksum\":\"";
constexpr std::string_view kFrameMiddle = "\",\"manifest\":\n";
constexpr std::string_view kFrameEnd = "\n}\n";

/// The parts one after another. (Chains of + with literals in front make g++ 12 warn of copies that cannot be.)
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

std::string encode_file(const DataFile& file) {
  return joined("{\"name\":", json_string(file.name), ",\"bytes\":", std::to_string(file.bytes), ",\"checksum\":\"",
                to_hex(file.checksum), "\"}");
}

std::string encode_piece(const Piece& piece) {
  return joined("{\"file\":", std::to_string(piece.file), ",\"offset\":", std::to_string(piece.offset),
                ",\"bytes\":", std::to_string(piece.bytes), ",\"row_begin\":", std::to_string(piece.row_begin),
                ",\"row_end\":", std::to_string(piece.row_end), ",\"checksum\":\"", to_hex(piece.checksum), "\"}");
}

/// Appends encode(item) of each, comma and line break between.
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
                            "\",\"shape\":", Json(dims).dump());
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
  std::string text = joined("{\"global_step\":", std::to_string(manifest.global_step), ",\n\"save_time_ns\":",
                            std::to_string(info.save_time.time_since_epoch().count()), ",\n\"numerics\":",
                            json_string(info.numerics), ",\n\"fingerprint\":", json_string(info.fingerprint),
                            ",\n\"counters\":{");
  append_list(text, info.counters, [](const auto& counter) {
    return joined(json_string(counter.first), ":", std::to_string(counter.second));
  });
  text += "},\n\"positions\":{";
  append_list(text, info.positions, [](const auto& position) {
    return joined(json_string(position.first), ":\"", to_base64(position.second), "\"");
  });
  text += "},\n\"files\":[";
  append_list(text, manifest.files, encode_file);
  text += "],\n\"tensors\":[";
  append_list(text, manifest.tensors, encode_tensor);
  text += "]}";
  return text;
}

Result<DataFile> decode_file(const Json& json) {
  DataFile file;
  SHOAL_TRY(file.name, string_field(json, "name"));
  SHOAL_TRY(file.bytes, uint_field(json, "bytes"));
  SHOAL_TRY(file.checksum, checksum_field(json, "checksum"));
  return file;
}

Result<Piece> decode_piece(const Json& json) {
  Piece piece;
  SHOAL_TRY(const uint64_t file, uint_field(json, "file"));
  if (file > UINT32_MAX) return data_loss("field 'file' is too large");
  piece.file = uint32_t(file);
  SHOAL_TRY(piece.offset, uint_field(json, "offset"));
  SHOAL_TRY(piece.bytes, uint_field(json, "bytes"));
  SHOAL_TRY(piece.row_begin, int_field(json, "row_begin"));
  SHOAL_TRY(piece.row_end, int_field(json, "row_end"));
  SHOAL_TRY(piece.checksum, checksum_field(json, "checksum"));
  return piece;
}

Result<Shape> decode_shape(const Json& json) {
  std::vector<int64_t> dims;
  for (const Json& dim : json) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t(INT64_MAX)) return data_loss("a size is no size");
    dims.push_back(dim.get<int64_t>());
  }
  Result<Shape> shape = Shape::checked(dims);
  if (!shape) return data_loss(shape.error().message());
  return shape;
}

Result<TensorEntry> decode_tensor(const Json& json) {
  TensorEntry tensor;
  SHOAL_TRY(tensor.name, string_field(json, "name"));
  SHOAL_TRY(const std::string dtype, string_field(json, "dtype"));
  const std::optional<DType> known = dtype_from_string(dtype);
  if (!known) return data_loss("variable " + tensor.name + ": unknown dtype '" + dtype + "'");
  tensor.dtype = *known;
  SHOAL_TRY(const Json* dims, array_field(json, "shape"));
  SHOAL_TRY(tensor.shape, decode_shape(*dims));
  if (json.contains("slot_of")) {
    SHOAL_TRY(tensor.slot_of, string_field(json, "slot_of"));
  }
  SHOAL_TRY(const Json* pieces, array_field(json, "pieces"));
  for (const Json& piece : *pieces) {
    SHOAL_TRY(Piece decoded, decode_piece(piece));
    tensor.pieces.push_back(decoded);
  }
  return tensor;
}

Result<SaveInfo> decode_info(const Json& json) {
  SaveInfo info;
  SHOAL_TRY(const int64_t save_time_ns, int_field(json, "save_time_ns"));
  info.save_time = WallTime(Duration(save_time_ns));
  SHOAL_TRY(info.numerics, string_field(json, "numerics"));
  SHOAL_TRY(info.fingerprint, string_field(json, "fingerprint"));
  SHOAL_TRY(const Json* counters, object_field(json, "counters"));
  for (const auto& [name, value] : counters->items()) {
    if (!value.is_number_unsigned()) return data_loss("the counter " + name + " is not a whole number >= 0");
    info.counters[name] = value.get<uint64_t>();
  }
  SHOAL_TRY(const Json* positions, object_field(json, "positions"));
  for (const auto& [trainer, value] : positions->items()) {
    const auto bytes = value.is_string() ? from_base64(value.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) return data_loss("the position of " + trainer + " is not base64");
    info.positions[trainer] = *bytes;
  }
  return info;
}

Result<Manifest> decode_body(const Json& json) {
  Manifest manifest;
  SHOAL_TRY(manifest.global_step, int_field(json, "global_step"));
  SHOAL_TRY(manifest.info, decode_info(json));
  SHOAL_TRY(const Json* files, array_field(json, "files"));
  for (const Json& file : *files) {
    SHOAL_TRY(DataFile decoded, decode_file(file));
    manifest.files.push_back(std::move(decoded));
  }
  SHOAL_TRY(const Json* tensors, array_field(json, "tensors"));
  for (const Json& tensor : *tensors) {
    SHOAL_TRY(TensorEntry decoded, decode_tensor(tensor));
    manifest.tensors.push_back(std::move(decoded));
  }
  if (auto wrong = contradiction_in(manifest)) return data_loss(*wrong);
  return manifest;
}

/// Why a text that lacks our frame is refused: of another version, or no index at all.
Error unframed(std::string_view text) {
  if (Result<Json> json = parse_object(text)) {
    Result<int64_t> version = int_field(*json, "version");
    if (version && *version > kVersion) {
      return data_loss("format version " + std::to_string(*version) + ", this build reads " + std::to_string(kVersion) +
                       "; use a newer Shoal");
    }
  }
  return data_loss("not the index of a checkpoint, or cut");
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  const std::string body = encode_body(manifest);
  return joined(kFrameBegin, to_hex(checksum_of(body)), kFrameMiddle, body, kFrameEnd);
}

Result<Manifest> decode_manifest(std::string_view text) {
  constexpr size_t kBodyBegin = kFrameBegin.size() + 16 + kFrameMiddle.size();
  if (text.size() < kBodyBegin + kFrameEnd.size() || !text.starts_with(kFrameBegin) || !text.ends_with(kFrameEnd) ||
      text.substr(kFrameBegin.size() + 16, kFrameMiddle.size()) != kFrameMiddle) {
    return unframed(text);
  }
  const std::string_view body = text.substr(kBodyBegin, text.size() - kBodyBegin - kFrameEnd.size());
  const std::string_view expected = text.substr(kFrameBegin.size(), 16);
  const std::string found = to_hex(checksum_of(body));
  if (found != expected) return data_loss("checksum " + found + ", expected " + std::string(expected));
  SHOAL_TRY(const Json json, parse_object(body));
  return decode_body(json);
}

}  // namespace shoal::checkpoint
