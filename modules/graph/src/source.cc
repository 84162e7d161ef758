// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/source.h"

namespace shoal {

std::string_view op_of(Source source) {
  switch (source) {
    case Source::kNone: return "";
    case Source::kInput: return "input";
    case Source::kVariable: return "variable";
    case Source::kConstant: return "constant";
  }
  return "";
}

Source source_of(std::string_view op) {
  for (Source source : {Source::kInput, Source::kVariable, Source::kConstant}) {
    if (op == op_of(source)) return source;
  }
  return Source::kNone;
}

}  // namespace shoal
