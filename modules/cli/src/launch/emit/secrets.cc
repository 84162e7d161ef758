// SPDX-License-Identifier: Apache-2.0
#include "launch/emit/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace shoal::cli::launch {
namespace {

bool is_name_sign(char c) { return std::isalnum(uint8_t(c)) != 0 || c == '_' || c == '-'; }

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// The parts of a name: "aws", "secret", "access", "key" for "AWS_SECRET_ACCESS_KEY".
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (std::isalnum(uint8_t(c)) != 0) {
      parts.back() += char(std::tolower(uint8_t(c)));
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  return parts;
}

/// True for a value that is not empty, and that is not a variable of the shell.
bool is_value(std::string_view text) {
  if (text.starts_with("\"\"") || text.starts_with("''")) return false;
  if (text.starts_with('"') || text.starts_with('\'')) text.remove_prefix(1);
  return !text.empty() && text.front() != '$' && text.front() != '`' && std::isspace(uint8_t(text.front())) == 0;
}

/// The name before the '=' at `equals`; empty if there is none.
std::string_view name_before(std::string_view word, size_t equals) {
  size_t begin = equals;
  while (begin > 0 && is_name_sign(word[begin - 1])) --begin;
  return word.substr(begin, equals - begin);
}

/// Describes the secret in a "NAME=VALUE" anywhere in the word; nothing if there is none.
std::optional<std::string> assigned_secret(std::string_view word) {
  for (size_t equals = word.find('='); equals != std::string_view::npos; equals = word.find('=', equals + 1)) {
    const std::string_view name = name_before(word, equals);
    if (names_a_secret(name) && is_value(word.substr(equals + 1))) return "the value of " + std::string(name);
  }
  return std::nullopt;
}

/// Describes the secret in a member of a JSON object, '"NAME": VALUE', anywhere in the word; nothing if there is none.
std::optional<std::string> member_secret(std::string_view word) {
  for (size_t end = word.find("\":"); end != std::string_view::npos; end = word.find("\":", end + 1)) {
    const std::string_view name = name_before(word, end);
    std::string_view value = word.substr(end + 2);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (names_a_secret(name) && is_value(value)) return "the value of " + std::string(name);
  }
  return std::nullopt;
}

/// True for "Authorization: Bearer ...", a header of HTTP.
bool is_authorization(std::string_view word) {
  constexpr std::string_view kHeader = "authorization:";
  const auto same = [](char a, char b) { return std::tolower(uint8_t(a)) == b; };
  return std::search(word.begin(), word.end(), kHeader.begin(), kHeader.end(), same) != word.end();
}

bool holds_token(std::string_view word) {
  constexpr std::string_view kPrefix = "shoal1-";
  constexpr size_t kSigns = 16;  // A token has 48 characters; a part of 16 counts as a secret, too.
  for (size_t at = word.find(kPrefix); at != std::string_view::npos; at = word.find(kPrefix, at + 1)) {
    const std::string_view rest = word.substr(at + kPrefix.size());
    const auto end = std::ranges::find_if_not(rest, [](char c) { return is_name_sign(c) || c == '+' || c == '/'; });
    if (size_t(end - rest.begin()) >= kSigns) return true;
  }
  return false;
}

/// True for "://user:password@host".
bool holds_password_of_address(std::string_view word) {
  for (size_t at = word.find("://"); at != std::string_view::npos; at = word.find("://", at + 1)) {
    const std::string_view authority = word.substr(at + 3, word.find_first_of("/?# \t\n", at + 3) - at - 3);
    const size_t end = authority.rfind('@'), colon = authority.find(':');
    if (end != std::string_view::npos && colon < end && is_value(authority.substr(colon + 1, end - colon - 1))) return true;
  }
  return false;
}

/// Describes the secret in this word; nothing if there is none. Looks at no other word of the command.
std::optional<std::string> secret_in(std::string_view word) {
  if (holds_token(word)) return "the token of a job";
  if (word.find("PRIVATE KEY-----") != std::string_view::npos) return "a private key";
  if (holds_password_of_address(word)) return "the password in an address";
  if (is_authorization(word)) return "an authorization";
  if (auto secret = assigned_secret(word)) return secret;
  return member_secret(word);
}

}  // namespace

bool names_a_secret(std::string_view name) {
  const std::vector<std::string> parts = parts_of(name);
  const std::string& last = parts.back();
  const std::string before = parts.size() > 1 ? parts[parts.size() - 2] : "";
  static constexpr std::array<std::string_view, 9> kWhole{"secret",  "credential", "credentials", "apikey",    "secretkey",
                                                          "authkey", "accesskey",  "privatekey",  "passphrase"};
  static constexpr std::array<std::string_view, 8> kKeys{"api",  "access",  "secret",     "private",
                                                         "auth", "signing", "encryption", "account"};
  // Programs that read text have flags such as --pad-token, which hold no secret. So a flag whose last word is "token"
  // counts as a secret only if the word before "token" is one of these. ("" stands for no word before it.)
  static constexpr std::array<std::string_view, 14> kTokens{"",   "auth",   "access", "api", "bearer", "refresh", "session",
                                                            "hf", "github", "gitlab", "job", "shoal",  "id",      "secret"};
  if (is_among(last, kWhole) || last.ends_with("password") || last.ends_with("passwd")) return true;
  if (last == "key") return is_among(before, kKeys);
  const bool is_variable = std::ranges::none_of(name, [](char c) { return std::islower(uint8_t(c)) != 0; });
  return last == "token" && (is_variable || is_among(before, kTokens));
}

Result<void> check_no_secrets(std::span<const std::string> words, std::string_view way_out) {
  const auto refused = [&](size_t word, const std::string& what) {
    return invalid_argument("--emit: word " + std::to_string(word + 1) + " behind -- is " + what +
                            ", a secret, which every reader of the manifest would know; " + std::string(way_out));
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (const auto secret = secret_in(words[i])) return refused(i, *secret);
    const bool flag = words[i].starts_with("--") && words[i].find('=') == std::string::npos;
    if (flag && names_a_secret(words[i]) && i + 1 < words.size() && is_value(words[i + 1]) && words[i + 1].front() != '-') {
      return refused(i + 1, "the value of " + words[i]);
    }
  }
  return {};
}

}  // namespace shoal::cli::launch
