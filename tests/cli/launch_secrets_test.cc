// SPDX-License-Identifier: Apache-2.0
// Secrets among the words of a command, which must not get into a manifest.
#include "fixture.h"
#include "launch/emit/secrets.h"

namespace shoal::cli::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Secrets, AreToldByTheirNames) {
  for (const char* name : {"SHOAL_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "db_password", "--api-key",
                           "api_key", "--token", "--auth-token", "MY_SECRET", "--passphrase", "CREDENTIALS"}) {
    EXPECT_TRUE(names_a_secret(name)) << name;
  }
  for (const char* name : {"", "-", "--pad-token", "eos_token", "--tokens", "tokenizer", "SHOAL_TOKEN_FILE",
                           "AWS_ACCESS_KEY_ID", "key", "--sort-key", "KEY", "--password-file", "PWD", "secretary"}) {
    EXPECT_FALSE(names_a_secret(name)) << name;
  }
}

TEST(Secrets, AreFoundInsideOfWordsAndNotShown) {
  const std::string token = "shoal1-" + std::string(48, 'A');
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"p", token},
                                             {"p", "x" + token.substr(0, 30)},
                                             {"sh", "-c", "A=1 SHOAL_TOKEN=opensesame p"},
                                             {"p", "--password", "opensesame"},
                                             {"p", "--param", "api_key=opensesame"},
                                             {"p", "https://me:opensesame@host/"},
                                             {"p", "-----BEGIN RSA PRIVATE KEY-----"},
                                             {"p", "--secret='opensesame'"},
                                             {"p", R"(--login={"user": "me", "password" : 1, "password": "opensesame"})"},
                                             {"p", "--url=https://host/?token=opensesame"},
                                             {"p", "--header", "authorization: Bearer opensesame"}}) {
    const auto checked = check_no_secrets(words, "the way out");
    ASSERT_FALSE(checked) << words.back();
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(checked.error().message(), AllOf(HasSubstr("a secret, which every reader"), HasSubstr("; the way out"),
                                                 Not(HasSubstr("opensesame")), Not(HasSubstr("AAAA"))));
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"p", "shoal1-"},
                                             {"p", R"({"password": "", "token": "$T", "tokens": 5})"},
                                             {"p", "--token-file", "/t"},
                                             {"p", "--password="},
                                             {"p", "--secret=$S"},
                                             {"p", "--secret", "--quiet"},
                                             {"p", "https://host/a:b@c"},
                                             {"p", "https://me@host/"},
                                             {"p", "=x"},
                                             {"p", "--password"}}) {
    EXPECT_TRUE(check_no_secrets(words, "")) << words.back();
  }
}

}  // namespace
}  // namespace shoal::cli::launch
