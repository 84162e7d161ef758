#pragma once
/// Recognises files that hold no text (archives, images, tables of other programs) by their first bytes.
#include <optional>
#include <string>
#include <string_view>

namespace shoal::data {

/// For a file that is compressed, an archive, a document of another program or in another encoding: what it is and what
/// helps, as the end of a sentence that begins with the file's name ("is a zip archive; ..."). Nothing for text of UTF-8,
/// and for what is not known. `begin`: the first bytes, the more the better.
std::optional<std::string> what_is_no_text(std::string_view begin);

/// As what_is_no_text(), for a CSV file, which in addition has no zero bytes and no lines that end with CR alone.
std::optional<std::string> what_is_no_table(std::string_view begin);

}  // namespace shoal::data
