// SPDX-License-Identifier: Apache-2.0
#include "test_authority.h"

namespace shoal::transport {

Validity hours_from_now(int begin, int end) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {.begin = now + std::chrono::hours(begin), .end = now + std::chrono::hours(end)};
}

TestAuthority::TestAuthority(const Validity& validity) : own_(value_or_raise(make_authority(validity))) {}

KeyPair TestAuthority::make(const std::string& role, int index, const Validity& validity) const {
  return value_or_raise(make_task_certificate(own_, {.role = role, .index = index}, validity));
}

std::shared_ptr<const Credential> TestAuthority::credential(const std::string& role, int index,
                                                            const Validity& validity) const {
  return std::make_shared<const Credential>(value_or_raise(Certificate::parse(make(role, index, validity), certificate())));
}

}  // namespace shoal::transport
