// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/ssh_command.h"

#include <iterator>
#include <optional>
#include <utility>

#include "launch/job_tasks.h"

namespace shoal::cli::launch {
namespace {

// The user's own options stand before these. If an option is given twice, ssh obeys the first.
constexpr const char* kOptions[] = {"-T", "-a", "-x",
                                    "-oBatchMode=yes",  // No user is there whom ssh could ask for a password.
                                    "-oStrictHostKeyChecking=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5",
                                    // With ServerAliveInterval above, ssh notices a connection that was lost silently.
                                    "-oServerAliveCountMax=3", "-oControlMaster=no",
                                    "-oControlPath=none",  // No ssh process shares the connection of another one.
                                    "-oClearAllForwardings=yes", "-oRemoteCommand=none", "-oPermitLocalCommand=no",
                                    "-oLogLevel=ERROR"};

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const size_t begin = text.find_last_of("\r\n");
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

std::string by_hand(const std::vector<std::string>& ssh, const Host& host) {
  std::string line;
  for (const std::string& word : ssh) line += shell_word(word) + " ";
  if (host.ssh_port != 0) line += "-p " + std::to_string(host.ssh_port) + " ";
  return line + shell_word(host.destination());
}

}  // namespace

Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && blank) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      *word += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      *word += c;
    }
  }
  if (quote != 0) return invalid_argument("a quote of " + std::string(text) + " does not close");
  if (word) words.push_back(*word);
  if (words.empty()) return invalid_argument("there is no command in it");
  return words;
}

std::vector<std::string> ssh_command(const std::vector<std::string>& ssh, const Host& host,
                                     const std::string& remote_command) {
  std::vector<std::string> command = ssh;
  command.insert(command.end(), std::begin(kOptions), std::end(kOptions));
  if (host.ssh_port != 0) command.insert(command.end(), {"-p", std::to_string(host.ssh_port)});
  command.insert(command.end(), {host.destination(), remote_command});
  return command;
}

Error ssh_failure(const std::vector<std::string>& ssh, const Host& host, std::string_view errors) {
  const std::string what = last_line(errors), command = by_hand(ssh, host);
  const auto has = [&](std::string_view text) { return errors.find(text) != std::string_view::npos; };
  if (has("REMOTE HOST IDENTIFICATION HAS CHANGED")) {
    return failed_precondition(host.name +
                               ": its host key is not the one that is known here: it was installed anew, or "
                               "somebody else answers. If you know why, remove the old key (ssh-keygen -R), "
                               "and connect once by hand: " +
                               command);
  }
  if (has("Host key verification failed") || has("host key is known")) {
    return failed_precondition(host.name +
                               ": its host key is not known here, so it might be anybody; connect once by hand and "
                               "compare the key: " +
                               command);
  }
  if (has("Permission denied")) {
    return failed_precondition(host.name + ": does not let you in without a password (" + what +
                               "); ssh-copy-id puts your key there, and ssh-add opens it. To try: " + command + " true");
  }
  return unavailable(host.name + ": cannot be reached (" + (what.empty() ? "ssh says nothing" : what) +
                     "). Is it on, and its name right? To try: " + command + " true");
}

}  // namespace shoal::cli::launch
