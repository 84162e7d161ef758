// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Nodes without operands: what comes into a graph from outside. No OpDef describes them.
#include <cstdint>
#include <string_view>

namespace shoal {

enum class Source : uint8_t {
  kNone,      ///< An op of the catalogue.
  kInput,     ///< Fed with every run, and known by its name.
  kVariable,  ///< A parameter, known by its name.
  kConstant,  ///< A value in Node::constant.
};

/// What Node::op says of a source: "input", "variable", "constant"; empty for kNone.
std::string_view op_of(Source source);
/// The source of that name; kNone for every other name.
Source source_of(std::string_view op);
/// Attributes of an input that is fed with ids of another input's text (text_ids.h): whose, and how.
inline constexpr std::string_view kTextOf = "text_of";
inline constexpr std::string_view kTextEncoding = "text_encoding";

/// True of what is known by its name: two of equal type are two.
inline bool is_named(Source source) { return source == Source::kInput || source == Source::kVariable; }

}  // namespace shoal
