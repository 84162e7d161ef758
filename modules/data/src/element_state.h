// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes an element as bytes, and reads it back: for saved positions in a dataset, and for the files of cache(path).
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/data/element.h"

namespace shoal::data {

/// Appends `element` to `out`.
void write_element(const Element& element, std::string& out);
/// Reads what write_element() wrote. FailedPrecondition if the bytes are anything else. Safe on any bytes.
Result<Element> read_element(std::string_view bytes);

}  // namespace shoal::data
