// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sources: nodes without operands, which bring values into a graph. No OpDef describes them.
#include <cstdint>
#include <string_view>

namespace shoal {

enum class Source : uint8_t {
  kNone,      ///< No source: the node is an op of the catalogue.
  kInput,     ///< A value that is fed with every run, identified by its name.
  kVariable,  ///< A parameter, identified by its name.
  kConstant,  ///< A constant, whose value is in Node::constant.
};

/// Node::op of a source: "input", "variable", "constant"; empty for kNone.
std::string_view op_of(Source source);
/// The source with this name; kNone for every other name.
Source source_of(std::string_view op);
/// Attributes of an input of ids (text_ids.h): the name of the text input from which the ids are computed, and how the text
/// is encoded.
inline constexpr std::string_view kTextOf = "text_of";
inline constexpr std::string_view kTextEncoding = "text_encoding";

/// True for sources that are identified by their names: two of them differ if their names differ, even with equal types.
inline bool is_named(Source source) { return source == Source::kInput || source == Source::kVariable; }

}  // namespace shoal
