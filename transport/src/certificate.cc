// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/certificate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "shoal/base/number_text.h"

namespace shoal::transport {
namespace {

constexpr std::string_view kTaskPrefix = "shoal:task/";
constexpr size_t kRoleBytesMax = 32;
constexpr int32_t kIndexMax = 65535;

bool is_role(std::string_view text) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= kRoleBytesMax && std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace

std::string to_string(const PeerIdentity& task) { return task.role + " " + std::to_string(task.index); }

std::string to_uri(const PeerIdentity& task) {
  return std::string(kTaskPrefix) + task.role + "/" + std::to_string(task.index);
}

Result<PeerIdentity> parse_task_uri(std::string_view uri) {
  PeerIdentity task;
  const size_t slash = uri.rfind('/');
  if (uri.starts_with(kTaskPrefix) && slash >= kTaskPrefix.size()) {
    const std::string_view role = uri.substr(kTaskPrefix.size(), slash - kTaskPrefix.size());
    const std::string_view index = uri.substr(slash + 1);
    task.index = number_from<int>(index).value_or(-1);
    task.role = role;
    // Comparing with the canonical text refuses leading zeros.
    if (is_role(role) && task.index >= 0 && task.index <= kIndexMax && to_uri(task) == uri) return task;
  }
  return invalid_argument("names no task as " + std::string(kTaskPrefix) + "ROLE/INDEX, for example " +
                          to_uri({.role = "worker", .index = 0}));
}

std::string to_utc_text(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC", int(date.year()), unsigned(date.month()),
                unsigned(date.day()), int(clock.hours().count()), int(clock.minutes().count()),
                int(clock.seconds().count()));
  return text;
}

Secret::~Secret() { explicit_bzero(text_.data(), text_.size()); }

}  // namespace shoal::transport
