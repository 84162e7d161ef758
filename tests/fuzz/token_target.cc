// SPDX-License-Identifier: Apache-2.0
// The text of a token. What is taken for one is written as it was read.
#include "shoal/base/check.h"
#include "shoal/transport/token.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = shoal::fuzz::Input(data, size).text();
  const shoal::Result<shoal::transport::Token> token = shoal::transport::Token::parse(text);
  if (token) SHOAL_CHECK(text.find(token->to_text()) != std::string_view::npos);
  if (!token) shoal::fuzz::touch(token.error().message());
  return 0;
}
