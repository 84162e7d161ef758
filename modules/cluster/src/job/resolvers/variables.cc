// SPDX-License-Identifier: Apache-2.0
#include "job/resolvers/variables.h"

#include "job/quote.h"
#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

Error not_set(std::string_view name, std::string_view beside) {
  if (beside.empty()) return invalid_argument(std::string(name) + ": is not set");
  return invalid_argument(std::string(name) + ": is not set, though " + std::string(beside) +
                          " is; set both, or neither, or say SHOAL_SOURCE=local to train in this process alone");
}

}  // namespace

std::optional<std::string> raw_variable(const GetEnv& look_up, std::string_view name) { return look_up(name); }

std::optional<std::string> variable(const GetEnv& getenv, std::string_view name) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::optional<std::string> value = raw_variable(getenv, name);
  if (!value) return std::nullopt;
  const size_t begin = value->find_first_not_of(kBlanks);
  if (begin == std::string::npos) return std::nullopt;
  return value->substr(begin, value->find_last_not_of(kBlanks) + 1 - begin);
}

bool is_set(const GetEnv& getenv, std::string_view name) { return variable(getenv, name).has_value(); }

Result<std::optional<int32_t>> optional_number(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most) {
  const std::optional<std::string> text = variable(getenv, name);
  if (!text) return std::optional<int32_t>();
  const std::optional<int32_t> number = number_from<int32_t>(*text);
  if (number && *number >= least && *number <= most) return number;
  return invalid_argument(std::string(name) + ": " + in_quotes(*text) + " is no whole number from " +
                          std::to_string(least) + " to " + std::to_string(most));
}

Result<int32_t> number_variable(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most,
                                std::string_view beside) {
  SHOAL_TRY(const std::optional<int32_t> number, optional_number(getenv, name, least, most));
  if (!number) return not_set(name, beside);
  return *number;
}

Result<std::string> needed_variable(const GetEnv& getenv, std::string_view name, std::string_view beside) {
  std::optional<std::string> text = variable(getenv, name);
  if (!text) return not_set(name, beside);
  return *std::move(text);
}

Result<void> check_address(std::string_view name, std::string_view text) {
  const Result<HostPort> parsed = parse_host_port(text);
  if (!parsed) return parsed.error().with_context(name);
  if (parsed->port == 0)
    return invalid_argument(std::string(name) + ": " + in_quotes(text) + " has port 0; give a real one");
  return {};
}

std::string address_of(std::string_view host, int32_t port) {
  // Two colons or more mean an IPv6 address. A host with one colon has a scheme or a port: check_address() reports it.
  const bool several = host.find(':') != host.rfind(':');
  const bool bare_v6 = several && !host.starts_with('[') && host.find("://") == std::string_view::npos;
  return (bare_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

Result<Place> ranks_of(const GetEnv& getenv, ConfigSource source, const RankVariables& names) {
  Place place{.source = source};
  SHOAL_TRY(place.size, number_variable(getenv, names.size, 1, kRanksMax, names.rank));
  SHOAL_TRY(place.rank, number_variable(getenv, names.rank, 0, kRanksMax, names.size));
  if (place.rank >= place.size) {
    return invalid_argument(std::string(names.rank) + ": " + std::to_string(place.rank) + " is not below " +
                            std::string(names.size) + ", which is " + std::to_string(place.size));
  }
  if (!names.local_rank.empty()) {
    SHOAL_TRY(place.local_rank, optional_number(getenv, names.local_rank, 0, kRanksMax));
  }
  if (!names.local_size.empty()) {
    SHOAL_TRY(place.local_size, optional_number(getenv, names.local_size, 1, place.size));
  }
  return place;
}

}  // namespace shoal::cluster
