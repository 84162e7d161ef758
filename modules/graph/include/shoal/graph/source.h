#pragma once
/// Nodes without operands: what comes into a graph from outside. No OpDef describes them.
#include <cstdint>
#include <string_view>

namespace shoal {

enum class Source : uint8_t {
  kNone,      ///< an op of the catalogue
  kInput,     ///< fed with every run, known by its name
  kVariable,  ///< a parameter, known by its name
  kConstant,  ///< Node::constant
};

/// What Node::op says of a source: "input", "variable", "constant"; empty for kNone.
std::string_view op_of(Source source);
/// kNone for every other name.
Source source_of(std::string_view op);
/// Known by its name: two of equal type are two.
inline bool is_named(Source source) { return source == Source::kInput || source == Source::kVariable; }

}  // namespace shoal
