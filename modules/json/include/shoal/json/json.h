// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two types of JSON values. Source files parse and print them with the functions of text.h. The library's parser and
/// printer are templates, so they are compiled once this way, and not in every source file.
#include <nlohmann/json.hpp>

namespace shoal::json {

/// A Json holds a value that comes from outside of the program. Such a value is not a PrintedJson, because a PrintedJson object
/// copies its members by recursion while it grows, and a deeply nested text would then exhaust the stack.
using Json = nlohmann::json;
/// A PrintedJson holds a value that Shoal writes for people and other programs. Its objects keep the order in which their
/// members were added.
using PrintedJson = nlohmann::ordered_json;

}  // namespace shoal::json
