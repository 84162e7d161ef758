// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads environment variables for resolvers: numbers in range, with errors that name the variable.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/cluster/place.h"

namespace shoal::cluster {

/// The most ranks: more than any real job has, and few enough that sums of counts cannot overflow.
inline constexpr int32_t kRanksMax = 100'000;

/// The value of the variable, not trimmed: blanks at its start and end are not removed.
std::optional<std::string> raw_variable(const GetEnv& look_up, std::string_view name);
/// The value of the variable, trimmed; nothing if it is unset or blank (shells export empty variables).
std::optional<std::string> variable(const GetEnv& getenv, std::string_view name);
bool is_set(const GetEnv& getenv, std::string_view name);

/// The value of the variable `name`, a whole number in [least, most]. InvalidArgument, naming the variable, for any other
/// value, and if the variable is not set. `beside` is a variable that is set, so `name` has to be set, too: the error for
/// an unset variable names both.
Result<int32_t> number_variable(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most,
                                std::string_view beside = {});
/// Like number_variable(), for a variable that may be missing.
Result<std::optional<int32_t>> optional_number(const GetEnv& getenv, std::string_view name, int32_t least, int32_t most);
/// The value of the variable, which has to be set because `beside` is set. InvalidArgument if it is not set.
Result<std::string> needed_variable(const GetEnv& getenv, std::string_view name, std::string_view beside);
/// Checks that `text`, the value of the variable `name`, is host:port. InvalidArgument naming the variable.
Result<void> check_address(std::string_view name, std::string_view text);
/// The address of a host ("host", or "::1") and a port.
std::string address_of(std::string_view host, int32_t port);

/// The names of the environment variables that one source (Slurm, MPI, ...) sets.
struct RankVariables {
  std::string_view rank, size;
  std::string_view local_rank = {}, local_size = {};  ///< Optional: an unset variable is no error.
};
/// Reads the variables. InvalidArgument if rank or size is missing or garbled, or rank is not below size.
Result<Place> ranks_of(const GetEnv& getenv, ConfigSource source, const RankVariables& names);

}  // namespace shoal::cluster
