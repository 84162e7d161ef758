// SPDX-License-Identifier: Apache-2.0
// ShardSpec as JSON. It comes from the chief over the network, so parsing checks everything.
#include <algorithm>

#include "shoal/base/buffer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/json/fields.h"

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

Result<Shape> shape_from(const Json& object) {
  SHOAL_TRY(const Json* list, json::list_member(object, "shape"));
  std::vector<int64_t> dims;
  for (const Json& element : *list) {
    SHOAL_TRY(const int64_t dim, json::whole_of<int64_t>(element, "shape"));
    dims.push_back(dim);
  }
  return Shape::checked(dims);
}

Result<Initializer> initializer_from(const Json& object) {
  constexpr std::string_view kName = "initialiser";
  SHOAL_TRY(const Json* list, json::list_member(object, kName));
  if (list->size() < 3) return json::must_be(kName, "a list of 3 numbers");
  SHOAL_TRY(const uint8_t kind, json::whole_of<uint8_t>((*list)[0], kName));
  Initializer initializer;
  initializer.kind = Initializer::Kind(kind);
  SHOAL_TRY(initializer.a, json::number_of((*list)[1], kName));
  SHOAL_TRY(initializer.b, json::number_of((*list)[2], kName));
  return initializer;
}

Result<nn::UpdateRule> rule_from(const Json& object) {
  nn::UpdateRule rule;
  SHOAL_TRY(const uint8_t kind, json::whole_member<uint8_t>(object, "rule"));
  rule.kind = nn::UpdateRule::Kind(kind);
  SHOAL_TRY(rule.learning_rate_scalar, json::whole_member<int32_t>(object, "learning_rate_scalar"));
  if (object.contains("gradient_scale_scalar")) {
    SHOAL_TRY(rule.gradient_scale_scalar, json::whole_member<int32_t>(object, "gradient_scale_scalar"));
  }
  SHOAL_TRY(const Json* constants, json::list_member(object, "constants"));
  for (size_t i = 0; i < std::min<size_t>(constants->size(), nn::UpdateRule::kConstantsMax); ++i) {
    SHOAL_TRY(rule.constants[i], json::number_of((*constants)[i], "constants"));
  }
  return rule;
}

/// The member `name`, or false if there is none.
Result<bool> flag_from(const Json& object, std::string_view name) {
  return object.contains(name) ? json::bool_member(object, name) : Result<bool>(false);
}

Result<Segment> segment_from(const Json& object) {
  Segment segment;
  VariableSpec& variable = segment.variable;
  SHOAL_TRY(variable.name, json::string_member(object, "name"));
  SHOAL_TRY(const std::string dtype, json::string_member(object, "dtype"));
  variable.dtype = dtype_from_string(dtype).value_or(DType::kString);
  SHOAL_TRY(variable.shape, shape_from(object));
  SHOAL_TRY(variable.initializer, initializer_from(object));
  SHOAL_TRY(variable.key, json::whole_member<uint64_t>(object, "key"));
  SHOAL_TRY(variable.rule, rule_from(object));
  SHOAL_TRY(variable.lazy_rows, flag_from(object, "lazy_rows"));
  SHOAL_TRY(const Json* rows, json::list_member(object, "rows"));
  if (rows->size() < 2) return json::must_be("rows", "a list of 2 whole numbers");
  SHOAL_TRY(segment.row_begin, json::whole_of<int64_t>((*rows)[0], "rows"));
  SHOAL_TRY(segment.row_end, json::whole_of<int64_t>((*rows)[1], "rows"));
  SHOAL_TRY(segment.offset, json::whole_member<uint64_t>(object, "offset"));
  SHOAL_TRY(segment.bytes, json::whole_member<uint64_t>(object, "bytes"));
  return segment;
}

Result<ShardSpec> spec_from(const Json& object) {
  ShardSpec spec;
  SHOAL_TRY(spec.arena_bytes, json::whole_member<uint64_t>(object, "arena_bytes"));
  SHOAL_TRY(spec.slot_count, json::whole_member<int32_t>(object, "slot_count"));
  SHOAL_TRY(spec.scalar_count, json::whole_member<int32_t>(object, "scalar_count"));
  SHOAL_TRY(spec.part_bytes_max, json::whole_member<uint64_t>(object, "part_bytes_max"));
  SHOAL_TRY(spec.own_part_bytes, json::whole_member<uint64_t>(object, "own_part_bytes"));
  SHOAL_TRY(const bool keeps_denormals, flag_from(object, "keeps_denormals"));
  spec.denormals = keeps_denormals ? Denormals::kKept : Denormals::kZero;
  SHOAL_TRY(const Json* segments, json::list_member(object, "segments"));
  if (segments->size() > kSegmentsMax) return invalid_argument("more than 65536 segments");
  for (const Json& element : *segments) {
    SHOAL_TRY(Segment segment, segment_from(element));
    spec.segments.push_back(std::move(segment));
  }
  return spec;
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
  const Result<Json> value = json::parse_value(text);
  Result<ShardSpec> spec = value ? spec_from(*value) : Result<ShardSpec>(value.error());
  // A text that does not fit is the fault of the chief that sent it: no stored data are lost.
  if (!spec) return invalid_argument("shard spec: " + spec.error().message());
  return check_spec(*std::move(spec));
}

}  // namespace shoal::cluster
