// SPDX-License-Identifier: Apache-2.0
#include "shoal/cli/text_output.h"

namespace shoal::cli {

TextOutput& TextOutput::operator<<(std::string_view text) {
  if (text_) {
    text_->append(text);
  } else if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
    ok_ = false;
  }
  return *this;
}

void TextOutput::flush() {
  if (file_ && std::fflush(file_) != 0) ok_ = false;
}

}  // namespace shoal::cli
