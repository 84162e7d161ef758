// SPDX-License-Identifier: Apache-2.0
// ShardSpec as JSON. It comes from the chief over the network, so parsing checks everything.
#include <algorithm>

#include "shoal/base/buffer.h"
#include "shoal/cluster/shard_plan.h"
#include "state/json_number.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

constexpr size_t kSegmentsMax = 65536;
constexpr size_t kJsonNameBytesMax = 256;
constexpr uint64_t kArenaBytesMax = uint64_t(1) << 40;
// The most elements of a whole variable: few enough that its number of bytes cannot overflow.
constexpr uint64_t kElementsMax = uint64_t(1) << 48;

Json segment_json(const Segment& segment) {
  const VariableSpec& variable = segment.variable;
  std::vector<double> constants(variable.rule.constants.begin(), variable.rule.constants.end());
  Json json{{"name", variable.name},
            {"dtype", std::string(to_string(variable.dtype))},
            {"shape", std::vector<int64_t>(variable.shape.dims().begin(), variable.shape.dims().end())},
            {"initialiser", {int(variable.initializer.kind), variable.initializer.a, variable.initializer.b}},
            {"key", variable.key},
            {"rule", int(variable.rule.kind)},
            {"constants", constants},
            {"learning_rate_scalar", variable.rule.learning_rate_scalar},
            {"rows", {segment.row_begin, segment.row_end}},
            {"offset", segment.offset},
            {"bytes", segment.bytes}};
  if (variable.lazy_rows) json["lazy_rows"] = true;
  if (variable.rule.gradient_scale_scalar >= 0) json["gradient_scale_scalar"] = variable.rule.gradient_scale_scalar;
  return json;
}

Segment segment_from(const Json& json) {  // Throws Json::exception, which the caller turns into an Error.
  Segment segment;
  VariableSpec& variable = segment.variable;
  variable.name = json.at("name").get<std::string>();
  const auto dtype = dtype_from_string(json.at("dtype").get<std::string>());
  variable.dtype = dtype.value_or(DType::kString);
  std::vector<int64_t> dims;
  for (const Json& dim : json.at("shape")) dims.push_back(whole_number<int64_t>(dim));
  variable.shape = value_or_raise(Shape::checked(dims));
  variable.initializer.kind = Initializer::Kind(whole_number<uint8_t>(json.at("initialiser").at(0)));
  variable.initializer.a = json.at("initialiser").at(1).get<double>();
  variable.initializer.b = json.at("initialiser").at(2).get<double>();
  variable.key = whole_number<uint64_t>(json, "key");
  variable.rule.kind = nn::UpdateRule::Kind(whole_number<uint8_t>(json, "rule"));
  variable.rule.learning_rate_scalar = whole_number<int32_t>(json, "learning_rate_scalar");
  if (json.contains("gradient_scale_scalar")) {
    variable.rule.gradient_scale_scalar = whole_number<int32_t>(json, "gradient_scale_scalar");
  }
  const auto constants = json.at("constants").get<std::vector<double>>();
  std::copy_n(constants.begin(), std::min<size_t>(constants.size(), nn::UpdateRule::kConstantsMax),
              variable.rule.constants.begin());
  variable.lazy_rows = json.value("lazy_rows", false);
  segment.row_begin = whole_number<int64_t>(json.at("rows").at(0));
  segment.row_end = whole_number<int64_t>(json.at("rows").at(1));
  segment.offset = whole_number<uint64_t>(json, "offset");
  segment.bytes = whole_number<uint64_t>(json, "bytes");
  return segment;
}

Result<void> check_initializer(const VariableSpec& variable) {
  const int kind = int(variable.initializer.kind);
  if (kind < int(Initializer::Kind::kConstant) || kind > int(Initializer::Kind::kOrthogonal)) {
    return invalid_argument("shard spec: variable " + variable.name + " has unknown initializer " + std::to_string(kind));
  }
  return {};
}

Result<void> check_segment(const Segment& segment, const ShardSpec& spec, uint64_t& end_before) {
  const VariableSpec& variable = segment.variable;
  const std::string where = "shard spec: variable " + variable.name.substr(0, kJsonNameBytesMax);
  if (variable.name.empty() || variable.name.size() > kJsonNameBytesMax) {
    return invalid_argument(where + ": names have 1 to 256 bytes");
  }
  if (variable.dtype != DType::kFloat32) return invalid_argument(where + ": is not float32");
  const int64_t rows = variable.shape.rank() == 0 ? 1 : variable.shape[0];
  if (segment.row_begin < 0 || segment.row_begin > segment.row_end || segment.row_end > rows) {
    return invalid_argument(where + ": rows are outside the variable");
  }
  if (uint64_t(variable.shape.elements()) > kElementsMax) return invalid_argument(where + ": its shape is too large");
  const uint64_t row_bytes = rows == 0 ? 0 : uint64_t(variable.shape.elements()) / uint64_t(rows) * sizeof(float);
  if (row_bytes > kArenaBytesMax || segment.bytes != row_bytes * uint64_t(segment.row_end - segment.row_begin)) {
    return invalid_argument(where + ": bytes do not fit its shape");
  }
  if (variable.lazy_rows && segment.bytes == 0 && segment.row_begin < segment.row_end) {
    return invalid_argument(where + ": rows without elements cannot be lazy");
  }
  if (segment.offset % kBufferAlignment != 0 || segment.offset < end_before || segment.offset > spec.arena_bytes ||
      segment.bytes > spec.arena_bytes - segment.offset) {
    return invalid_argument(where + ": overlaps its neighbour or leaves the arena");
  }
  end_before = segment.offset + segment.bytes;
  if (variable.rule.learning_rate_scalar < 0 ||
      (variable.rule.learning_rate_scalar >= spec.scalar_count && nn::uses_learning_rate(variable.rule))) {
    return invalid_argument(where + ": its learning rate is not among the push's scalars");
  }
  if (variable.rule.gradient_scale_scalar >= spec.scalar_count) {
    return invalid_argument(where + ": its gradient scale is not among the push's scalars");
  }
  if (nn::needs_whole_variable(variable.rule) && (segment.row_begin != 0 || segment.row_end != rows)) {
    return invalid_argument(where + ": rule " + std::string(to_string(variable.rule.kind)) +
                            " needs all rows on one server");
  }
  if (Result<void> valid = nn::validate(variable.rule); !valid) return std::move(valid).error().with_context(where);
  if (nn::slot_count(variable.rule) > spec.slot_count) return invalid_argument(where + ": has more slots than the shard");
  return check_initializer(variable);
}

Result<ShardSpec> check_spec(ShardSpec spec) {
  if (spec.arena_bytes == 0 || spec.arena_bytes > kArenaBytesMax || spec.arena_bytes % kBufferAlignment != 0) {
    return invalid_argument("shard spec: the arena must have 64 bytes to 1 TiB, a multiple of 64");
  }
  if (spec.part_bytes_max == 0 || spec.part_bytes_max > kPartBytesMax || spec.part_bytes_max % kBufferAlignment != 0) {
    return invalid_argument("shard spec: its parts must have 64 bytes to 1 GiB, a multiple of 64");
  }
  if (spec.own_part_bytes == 0) return invalid_argument("shard spec: own_part_bytes must be at least 1");
  if (spec.slot_count < 0 || spec.slot_count > 8 || spec.scalar_count < 0 || spec.scalar_count > 1024) {
    return invalid_argument("shard spec: slot or scalar count out of range");
  }
  uint64_t end_before = 0;
  for (const Segment& segment : spec.segments) SHOAL_TRY_VOID(check_segment(segment, spec, end_before));
  for (const ShardPart& part : parts_of(spec)) {
    if (part.spec.arena_bytes > spec.part_bytes_max)
      return invalid_argument("shard spec: a part of it would be larger than part_bytes_max");
  }
  return spec;
}

}  // namespace

std::string to_json(const ShardSpec& spec) {
  Json segments = Json::array();
  for (const Segment& segment : spec.segments) segments.push_back(segment_json(segment));
  const Json json{{"segments", segments},
                  {"arena_bytes", spec.arena_bytes},
                  {"slot_count", spec.slot_count},
                  {"scalar_count", spec.scalar_count},
                  {"part_bytes_max", spec.part_bytes_max},
                  {"own_part_bytes", spec.own_part_bytes},
                  {"keeps_denormals", spec.denormals == Denormals::kKept}};
  return shoal::json::text_of(json);
}

Result<ShardSpec> parse_shard_spec(std::string_view text) {
  try {
    const Result<Json> value = shoal::json::parse_value(text);
    if (!value) return invalid_argument("shard spec: " + value.error().message());
    const Json& json = *value;
    ShardSpec spec;
    spec.arena_bytes = whole_number<uint64_t>(json, "arena_bytes");
    spec.slot_count = whole_number<int32_t>(json, "slot_count");
    spec.scalar_count = whole_number<int32_t>(json, "scalar_count");
    spec.part_bytes_max = whole_number<uint64_t>(json, "part_bytes_max");
    spec.own_part_bytes = whole_number<uint64_t>(json, "own_part_bytes");
    spec.denormals = json.value("keeps_denormals", false) ? Denormals::kKept : Denormals::kZero;
    if (json.at("segments").size() > kSegmentsMax) return invalid_argument("shard spec: more than 65536 segments");
    for (const Json& segment : json.at("segments")) spec.segments.push_back(segment_from(segment));
    return check_spec(std::move(spec));
  } catch (const Json::exception& e) {
    return invalid_argument(std::string("shard spec: ") + e.what());
  } catch (const Exception& e) {
    return e.error().with_context("shard spec");
  }
}

}  // namespace shoal::cluster
