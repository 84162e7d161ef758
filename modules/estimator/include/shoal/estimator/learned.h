// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The plain types that a run can keep in its folder by RunConfig::learned(). shoal/columns/statistics.h adds the type for
/// statistics; for a type of your own specialize Learned as shoal/base/learned.h says.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/learned.h"

namespace shoal {

/// How a run stores a list of words, such as a vocabulary. When the run is started again, news() reports the words of the
/// present data that the stored vocabulary lacks.
template <>
struct Learned<std::vector<std::string>> {
  static std::string encode(const std::vector<std::string>& value);
  static Result<std::vector<std::string>> decode(std::string_view json);
  static std::string news(const std::vector<std::string>& kept, const std::vector<std::string>& found);
};

/// How a run stores a list of numbers, such as boundaries. If the present data give other numbers when the run is started
/// again, nothing is reported.
template <>
struct Learned<std::vector<double>> {
  static std::string encode(const std::vector<double>& value);
  static Result<std::vector<double>> decode(std::string_view json);
  static std::string news(const std::vector<double>&, const std::vector<double>&) { return {}; }
};

/// How a run stores lists of numbers by name, as columns::boundaries_of() returns them. If the present data give other
/// lists when the run is started again, nothing is reported.
template <>
struct Learned<std::map<std::string, std::vector<double>>> {
  static std::string encode(const std::map<std::string, std::vector<double>>& value);
  static Result<std::map<std::string, std::vector<double>>> decode(std::string_view json);
  static std::string news(const std::map<std::string, std::vector<double>>&,
                          const std::map<std::string, std::vector<double>>&) {
    return {};
  }
};

/// How a run stores a single number, such as a mean.
template <>
struct Learned<double> {
  static std::string encode(const double& value);
  static Result<double> decode(std::string_view json);
  static std::string news(const double&, const double&) { return {}; }
};

/// How a run stores a whole number, such as a count of examples.
template <>
struct Learned<int64_t> {
  static std::string encode(const int64_t& value);
  static Result<int64_t> decode(std::string_view json);
  static std::string news(const int64_t&, const int64_t&) { return {}; }
};

/// How a run stores a single text of any content.
template <>
struct Learned<std::string> {
  static std::string encode(const std::string& value);
  static Result<std::string> decode(std::string_view json);
  static std::string news(const std::string&, const std::string&) { return {}; }
};

}  // namespace shoal
