// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/hosts_file.h"

#include <algorithm>

#include "shoal/base/number_text.h"
#include "shoal/base/split_text.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {
namespace {

constexpr int32_t kSlotsMax = 10'000;

/// True for a name that ssh takes for a host, not for an option.
bool is_name(std::string_view text, std::string_view more) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || more.find(char(c)) != std::string_view::npos;
  });
}

/// Parses "name", "name:port", "[address]:port" or an IPv6 address.
Result<void> read_place(std::string_view text, Host& host) {
  std::string_view name = text, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos)
      return invalid_argument("the bracket of \"" + std::string(text) + "\" does not close");
    name = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':')
      return invalid_argument("behind a bracket comes a colon and a port, or nothing");
    if (!rest.empty()) port = rest.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    name = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
  }
  if (!is_name(name, "-._:%")) return invalid_argument("\"" + std::string(name) + "\" is no name of a host");
  host.name = name;
  if (port.data() == nullptr) return {};
  const auto number = number_from<uint16_t>(port);
  if (!number || *number == 0) return invalid_argument("\"" + std::string(port) + "\" is no port, which is 1 to 65535");
  host.ssh_port = *number;
  return {};
}

Result<void> read_setting(std::string_view word, Host& host) {
  const std::string_view name = word.substr(0, word.find('='));
  const std::string_view value = name.size() < word.size() ? word.substr(name.size() + 1) : std::string_view();
  if (name == "slots") {
    const auto slots = number_from<int32_t>(value);
    if (!slots || *slots < 1 || *slots > kSlotsMax) {
      return invalid_argument("\"" + std::string(word) +
                              "\": slots are a number, at least 1, of tasks that may train there");
    }
    host.slots = *slots;
  } else if (name == "address") {
    const bool bracketed = value.size() > 2 && value.front() == '[' && value.back() == ']';
    if (!is_name(bracketed ? value.substr(1, value.size() - 2) : value, bracketed ? ":%." : "-._")) {
      return invalid_argument("\"" + std::string(word) + "\": an address is a name, or numbers, without a port");
    }
    host.address = value;
  } else {
    return invalid_argument("\"" + std::string(word) + "\" is neither slots=N nor address=NAME");
  }
  return {};
}

Result<Host> read_host(const std::vector<std::string>& words) {
  Host host;
  std::string_view place = words.front();
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    host.user = place.substr(0, at);
    place.remove_prefix(at + 1);
    if (!is_name(host.user, "-._")) return invalid_argument("\"" + host.user + "\" is no name of a user");
  }
  SHOAL_TRY_VOID(read_place(place, host));
  for (size_t i = 1; i < words.size(); ++i) SHOAL_TRY_VOID(read_setting(words[i], host));
  if (host.address.empty()) host.address = host.name.find(':') == std::string::npos ? host.name : "[" + host.name + "]";
  return host;
}

}  // namespace

Result<std::vector<Host>> parse_hosts(std::string_view text, const std::string& file) {
  std::vector<Host> hosts;
  std::vector<int> lines;
  int number = 0;
  for (const std::string_view line : split_at_lines(text)) {
    ++number;
    const std::vector<std::string_view> parts = split_at_blanks(line.substr(0, line.find('#')));
    const std::vector<std::string> words(parts.begin(), parts.end());
    if (words.empty()) continue;
    const std::string where = file + ", line " + std::to_string(number);
    auto host = read_host(words);
    if (!host) return std::move(host).error().with_context(where);
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i].name != host->name || hosts[i].ssh_port != host->ssh_port) continue;
      return invalid_argument(where + ": " + host->name + " is listed already, in line " + std::to_string(lines[i]) +
                              "; slots=N says that more tasks may train there");
    }
    hosts.push_back(std::move(*host));
    lines.push_back(number);
  }
  if (hosts.empty()) return invalid_argument(file + ": names no host; each is a line, such as: pi@board1 slots=2");
  return hosts;
}

}  // namespace shoal::cli::launch
