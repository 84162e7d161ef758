// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Environment variables as resolvers read them: numbers in range, and sentences that name the variable.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/cluster/place.h"

namespace shoal::cluster {

/// Far beyond what anybody starts, and small enough that counts add up without care.
inline constexpr int32_t kRanksMax = 100'000;

/// The variable as it is.
std::optional<std::string> raw_variable(const GetEnv& look_up, std::string_view name);
/// The variable without blanks around it; nothing where it is not set, or blank (shells export empty ones).
std::optional<std::string> variable(const GetEnv& getenv, std::string_view name);
bool is_set(const GetEnv& getenv, std::string_view name);

/// The variable, a whole number in [least, most]. InvalidArgument naming it, also where it is not set; `beside`: one that
/// is, which makes this one needed.
Result<int32_t> number_variable(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most,
                                std::string_view beside = {});
/// The same where it may be missing.
Result<std::optional<int32_t>> optional_number(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most);
/// A variable that has to be there since `beside` is.
Result<std::string> needed_variable(const GetEnv& getenv, std::string_view name, std::string_view beside);
/// `text` of the variable `name`, a host:port. InvalidArgument naming it.
Result<void> check_address(std::string_view name, std::string_view text);
/// "host" or "::1" and a port, as an address.
std::string address_of(std::string_view host, int32_t port);

/// Names of the variables of one source.
struct RankVariables {
  std::string_view rank, size;
  std::string_view local_rank = {}, local_size = {};  ///< These may be missing.
};
/// Reads them. InvalidArgument: one of the two is missing or garbled, or they do not fit together.
Result<Place> ranks_of(const GetEnv& getenv, ConfigSource source, const RankVariables& names);

}  // namespace shoal::cluster
