// SPDX-License-Identifier: Apache-2.0
/// What lets a monitoring system in: keys derived from a token, and the certificate that follows from it.
#include "shoal/transport/scrape_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"
#include "hkdf.h"
#include "openssl_program.h"
#include "test_authority.h"

namespace shoal::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToken = "shoal1-nSBys2-nS8nU-MNlhWD4PnBkd8VOZT7hGMQA74opvo8i2ViW";

std::vector<std::byte> bytes(int first, int count, int step = 1) {
  std::vector<std::byte> made;
  for (int i = 0; i < count; ++i) made.push_back(std::byte(first + i * step));
  return made;
}

std::string text_of(const std::vector<std::byte>& made) {
  return {reinterpret_cast<const char*>(made.data()), made.size()};
}

std::string derived(const std::vector<std::byte>& secret, const std::vector<std::byte>& salt, const std::string& info,
                    size_t size) {
  std::vector<unsigned char> out(size);
  EXPECT_TRUE(hkdf_sha256({.secret = secret, .salt = salt, .info = info}, out));
  std::string digits;
  for (const unsigned char byte : out) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

TEST(Hkdf, GivesThePublishedVectors) {  // RFC 5869, A.1 to A.3.
  EXPECT_EQ(derived(bytes(0x0b, 22, 0), bytes(0, 13), text_of(bytes(0xf0, 10)), 42),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(derived(bytes(0, 80), bytes(0x60, 80), text_of(bytes(0xb0, 80)), 82),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09"
            "b8367793a9"
            "aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
  EXPECT_EQ(derived(bytes(0x0b, 22, 0), {}, "", 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, RefusesMoreThanTheHashCanGive) {
  std::vector<unsigned char> out(255 * 32 + 1);
  const auto secret = bytes(1, 32);
  EXPECT_FALSE(hkdf_sha256({.secret = secret, .info = "x"}, out));
}

/// The expected secret was computed by Python's hmac.
TEST(ScrapeAccess, OfATokenIsTheSameEverywhere) {
  const Token token = Token::parse(kToken).value();
  const ScrapeAccess access = scrape_access(token).value();
  EXPECT_EQ(access.bearer.text(), "shoal-metrics-t15SuPUp_z5FfCrWSX_5yNDQw5cnjqYzbYs31mYmOvo");
  EXPECT_EQ(access.authorities, "");
  const ScrapeAccess again = scrape_access(token).value();
  EXPECT_EQ(again.own.certificate, access.own.certificate);
  EXPECT_EQ(again.own.key.text(), access.own.key.text());
  const ScrapeAccess other = scrape_access(Token::fresh()).value();
  EXPECT_NE(other.bearer.text(), access.bearer.text());
  EXPECT_NE(other.own.certificate, access.own.certificate);
}

TEST(ScrapeAccess, ShowsNothingOfTheToken) {
  const std::string secret = std::string(kToken).substr(7);
  const ScrapeAccess access = scrape_access(Token::parse(kToken).value()).value();
  for (size_t at = 0; at + 8 <= secret.size(); ++at) {
    EXPECT_THAT(access.bearer.text(), Not(HasSubstr(secret.substr(at, 8))));
    EXPECT_THAT(access.own.certificate, Not(HasSubstr(secret.substr(at, 8))));
  }
}

TEST(ScrapeAccess, OfACertificateIsThatCertificate) {
  const auto credential = TestAuthority().credential("worker", 3);
  const auto& certificate = std::get<Certificate>(*credential);
  const ScrapeAccess access = scrape_access(*credential).value();
  EXPECT_EQ(access.bearer.text(), "");
  const auto read = Certificate::parse(access.own, access.authorities);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->certificate(), certificate.certificate());
  EXPECT_EQ(read->key(), certificate.key());
  EXPECT_EQ(read->authorities(), certificate.authorities());
}

/// OpenSSL's own program takes either certificate for the name that monitoring systems are told.
TEST(ScrapeAccess, IsVerifiedByName) {
  if (const std::string missing = openssl_program_missing(); !missing.empty()) GTEST_SKIP() << missing;
  TemporaryFolder folder;
  const auto verify = [&folder](const std::string& name, const ScrapeAccess& access, const std::string& believed,
                                const char* server) {
    return OpenSsl({"verify", "-purpose", "sslserver", "-verify_hostname", server, "-CAfile",
                    folder.write(name + "-ca.pem", believed), folder.write(name + ".pem", access.own.certificate)})
        .read_all();
  };
  const ScrapeAccess by_token = scrape_access(Token::parse(kToken).value()).value();
  EXPECT_THAT(verify("token", by_token, by_token.own.certificate, kScrapeServerName), HasSubstr("token.pem: OK"));
  EXPECT_THAT(verify("token", by_token, by_token.own.certificate, "localhost"), Not(HasSubstr(": OK")));
  const ScrapeAccess by_certificate = scrape_access(*TestAuthority().credential("ps", 0)).value();
  EXPECT_THAT(verify("task", by_certificate, by_certificate.authorities, kScrapeServerName), HasSubstr("task.pem: OK"));
}

}  // namespace
}  // namespace shoal::transport
