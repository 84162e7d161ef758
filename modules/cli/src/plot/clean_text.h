// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Fits names from outside (folders, tags) into pictures and terminals.
#include <cstddef>
#include <string>
#include <string_view>

#include "safe_text.h"
#include "text_table.h"

namespace shoal::cli::plot {

using cli::clean_text;

/// Returns at most `characters` characters of `text`. A longer text becomes "…" and its end, since names differ at their
/// ends.
std::string shortened(const std::string& text, size_t characters);

/// Returns at most `characters` characters of `text`. A longer text loses its end, which becomes "…".
std::string cut_text(const std::string& text, size_t characters);

/// Escapes text for XML, between tags or in an attribute.
std::string xml_text(std::string_view text);

}  // namespace shoal::cli::plot
