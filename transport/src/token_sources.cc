// SPDX-License-Identifier: Apache-2.0
// Finds the token among the sources that a user may set.
#include <algorithm>
#include <string_view>

#include "owned_file.h"
#include "shoal/transport/token.h"

namespace shoal::transport {
namespace {

Result<Token> read_token_file(const std::string& path) {
  SHOAL_TRY(const Secret line, read_owned_file({.path = path,
                                                .what = "token file",
                                                .bytes_max = 1024,
                                                .remedy = "make a new token if anybody may have read this one"}));
  // Some editors begin a file of UTF-8 with a byte order mark, which they do not show.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view text = line.text();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto token = Token::parse(text);
  if (!token) return std::move(token).error().with_context("token file " + path);
  return token;
}

}  // namespace

Result<std::shared_ptr<const Token>> find_token(const TokenSources& sources) {
  std::shared_ptr<const Token> from_file, from_text;
  if (sources.file) {
    SHOAL_TRY(const Token token, read_token_file(*sources.file));
    from_file = std::make_shared<const Token>(token);
  }
  if (sources.text) {
    auto token = Token::parse(*sources.text);
    if (!token) return std::move(token).error().with_context("SHOAL_TOKEN");
    from_text = std::make_shared<const Token>(*token);
  }
  if (from_file && from_text && !std::ranges::equal(from_file->secret(), from_text->secret()))
    return invalid_argument("token file " + *sources.file +
                            " and SHOAL_TOKEN contain different tokens; leave one of them out");
  return from_file ? from_file : from_text;
}

}  // namespace shoal::transport
