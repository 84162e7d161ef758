// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts (functions) of generated sources: parts/*.inc, which the build puts into the library as text. A line
///
///     //@ part NAME needs OTHER ...
///
/// begins a part, which ends where the next one begins.
#include <set>
#include <string>

namespace shoal::convert::cpp {

/// Returns the text of these parts and of all parts that they need. Each part comes after the parts that it needs.
std::string parts_text(const std::set<std::string>& names);

}  // namespace shoal::convert::cpp
