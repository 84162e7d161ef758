// SPDX-License-Identifier: Apache-2.0
/// Tokens: as text, with typing errors, in files.
#include "shoal/transport/token.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "../base/temporary_folder.h"
#include "owned_file.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using testing::HasSubstr;
using testing::Not;

/// It is refused, in words that show nothing of it.
void expect_malformed(const std::string& text, const std::string& part) {
  const auto parsed = Token::parse(text);
  expect_error(parsed, ErrorKind::kInvalidArgument, part);
  if (!parsed && text.size() > 20) {
    EXPECT_THAT(parsed.error().message(), Not(HasSubstr(text.substr(7, 6))));
    EXPECT_THAT(parsed.error().message(), Not(HasSubstr(text.substr(text.size() - 6))));
  }
}

TEST(Token, IsTheSameAfterAJourneyAsText) {
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    const Token token = Token::fresh();
    const std::string text = token.to_text();
    EXPECT_EQ(text.size(), Token::kTextBytes);
    EXPECT_THAT(text, testing::MatchesRegex("shoal1-[A-Za-z0-9_-]{48}"));
    const auto again = Token::parse(text);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_TRUE(std::ranges::equal(again->secret(), token.secret()));
    EXPECT_TRUE(Token::parse("  " + text + "\r\n"));
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 100u);
}

TEST(Token, FindsEveryWrongCharacter) {
  const std::string text = Token::fresh().to_text();
  for (size_t i = 7; i < text.size(); ++i) {
    for (const char other : {'A', 'b', '0', '_'}) {
      std::string wrong = text;
      if (wrong[i] == other) continue;
      wrong[i] = other;
      expect_malformed(wrong, "checksum differs");
    }
  }
  for (size_t i = 7; i + 1 < text.size(); ++i) {
    std::string swapped = text;
    std::swap(swapped[i], swapped[i + 1]);
    if (swapped != text) expect_malformed(swapped, "checksum differs");
  }
}

TEST(Token, SaysWhatIsWrong) {
  const std::string text = Token::fresh().to_text();
  expect_malformed("", "is empty");
  expect_malformed(" \n", "is empty");
  expect_malformed("secret", "does not begin with shoal1-");
  expect_malformed("shoal2-" + text.substr(7), "does not begin with shoal1-");
  expect_malformed("Shoal1-" + text.substr(7), "does not begin with shoal1-");
  expect_malformed(text.substr(0, 54), "54 characters");
  expect_malformed(text + "A", "56 characters");
  expect_malformed("shoal1-", "7 characters");
  expect_malformed(std::string(1 << 20, 'x'), "does not begin");
  for (const char odd : {' ', '+', '/', '=', '\n', '\0', char(200)}) {
    std::string wrong = text;
    wrong[20] = odd;
    expect_malformed(wrong, "character 21 does not occur in tokens");
  }
}

class TokenFile : public testing::Test {
 protected:
  TemporaryFolder folder;
  const std::string path = folder.path() + "/token";
  const std::string text = Token::fresh().to_text();

  void write(const std::string& content, mode_t mode = 0600) {
    folder.write("token", content);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
};

TEST_F(TokenFile, IsReadAndMayEndWithALine) {
  for (const std::string& content : {text, text + "\n", "\n" + text + " \n\n", "\xEF\xBB\xBF" + text + "\r\n"}) {
    write(content);
    const auto token = find_token({.file = path});
    ASSERT_TRUE(token) << token.error().message();
    EXPECT_EQ((*token)->to_text(), text);
  }
  write(text, 0400);
  EXPECT_TRUE(find_token({.file = path}));
}

TEST_F(TokenFile, IsRefusedIfOthersHaveAccess) {
  for (const mode_t mode : {0644, 0640, 0604, 0620, 0601}) {
    write(text, mode);
    const auto token = find_token({.file = path});
    expect_error(token, ErrorKind::kFailedPrecondition, "chmod 600 " + path);
    EXPECT_THAT(token.error().message(), Not(HasSubstr(text)));
  }
}

TEST_F(TokenFile, SaysWhatIsWrongWithIt) {
  expect_error(find_token({.file = folder.path() + "/none"}), ErrorKind::kNotFound, folder.path() + "/none");
  expect_error(find_token({.file = folder.path()}), ErrorKind::kInvalidArgument, "is a folder");
  write("");
  expect_error(find_token({.file = path}), ErrorKind::kInvalidArgument, "token file " + path + ": no token: it is empty");
  write(text + "\n" + text);
  expect_error(find_token({.file = path}), ErrorKind::kInvalidArgument, "111 characters");
  write(std::string(5000, ' ') + text);
  expect_error(find_token({.file = path}), ErrorKind::kInvalidArgument, "larger than such a file can be");
}

TEST_F(TokenFile, MayBeAPipeThatSomebodyWritesTo) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << text << "\n"; });  // Waits until the pipe is opened for reading.
  const auto token = find_token({.file = path});
  writer.join();
  ASSERT_TRUE(token) << token.error().message();
  EXPECT_EQ((*token)->to_text(), text);
}

TEST_F(TokenFile, IsNotWaitedForForEver) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const OwnedFile pipe{
      .path = path, .what = "token file", .bytes_max = 100, .pipe_patience = std::chrono::milliseconds(20)};
  expect_error(read_owned_file(pipe), ErrorKind::kDeadlineExceeded,
               "is no regular file, and its end has not come within 1 s");
  // Somebody who opens the pipe and says nothing is not waited for either.
  const int silent = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::write(silent, "shoal1", 6), 6);
  expect_error(read_owned_file(pipe), ErrorKind::kDeadlineExceeded, "or name a file");
  ::close(silent);
}

TEST_F(TokenFile, AndVariableMayNotDiffer) {
  EXPECT_EQ(*find_token({}), nullptr);
  EXPECT_EQ((*find_token({.text = text}))->to_text(), text);
  write(text);
  EXPECT_EQ((*find_token({.file = path, .text = text}))->to_text(), text);
  const std::string other = Token::fresh().to_text();
  const auto both = find_token({.file = path, .text = other});
  expect_error(both, ErrorKind::kInvalidArgument, "contain different tokens");
  EXPECT_THAT(both.error().message(), Not(HasSubstr(other)));
  expect_error(find_token({.text = "x"}), ErrorKind::kInvalidArgument, "SHOAL_TOKEN: no token");
}

}  // namespace
}  // namespace shoal::transport
