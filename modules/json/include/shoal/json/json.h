// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two types of JSON values. Sources parse and print them by the functions of text.h, so that the library's parser and its
/// printer, which are templates, are compiled once, and not in every source.
#include <nlohmann/json.hpp>

namespace shoal::json {

/// What comes from outside. The type is not PrintedJson: its objects copy their members as they grow, to any depth that the
/// text has, by recursion.
using Json = nlohmann::json;
/// What people and other programs read. Members stand in the order of writing.
using PrintedJson = nlohmann::ordered_json;

}  // namespace shoal::json
