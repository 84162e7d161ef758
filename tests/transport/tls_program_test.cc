// SPDX-License-Identifier: Apache-2.0
/// An independent check of what tcp with a token speaks: the openssl program meets it, with keys that the program derives
/// too.

#include "../base/temporary_folder.h"
#include "openssl_program.h"
#include "raw_peer.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using testing::HasSubstr;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

std::string as_hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[unsigned(byte) >> 4];
    hex += "0123456789abcdef"[unsigned(byte) & 15];
  }
  return hex;
}

/// HKDF-SHA256 by the program, as hexadecimal digits.
std::string derived(const Token& token, const std::string& info, int bytes) {
  OpenSsl kdf({"kdf", "-keylen", std::to_string(bytes), "-kdfopt", "digest:SHA256", "-kdfopt",
               "hexkey:" + as_hex(token.secret()), "-kdfopt", "info:" + info, "HKDF"});
  std::string digits;
  for (const char c : kdf.read_until("\n")) {
    if (c != ':' && c != '\n') digits += char(std::tolower(c));
  }
  EXPECT_EQ(digits.size(), size_t(2 * bytes)) << digits;
  return digits;
}

class OpenSslProgram : public testing::Test {
 protected:
  TwoTasks tasks{Setting{.scheme = "tcp", .token = true}};
  LinkOptions options;
  std::unique_ptr<Listener> listener;

  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
    if (const std::string missing = openssl_program_missing(); !missing.empty()) GTEST_SKIP() << missing;
    options.credential = tasks.credential();
    auto listening = tasks.transport(tasks.server()).listen({"tcp", "127.0.0.1:0"}, options);
    ASSERT_TRUE(listening);
    listener = std::move(*listening);
  }
  std::vector<std::string> client_words(const std::string& key) {
    return {"s_client",
            "-connect",
            listener->endpoint().address,
            "-psk",
            key,
            "-psk_identity",
            "shoal-6-" + derived(std::get<Token>(*options.credential), "shoal 6 tls13 identity", 16)};
  }
  std::string key() { return derived(std::get<Token>(*options.credential), "shoal 6 tls13 psk", 32); }
  bool gets_in(const std::function<void()>& meet) { return guest_of(tasks.server(), *listener, meet).there; }
};

TEST_F(OpenSslProgram, GetsInByTls13WithTheDerivedKey) {
  auto words = client_words(key());
  words.insert(words.end(), {"-tls1_3", "-quiet"});
  EXPECT_TRUE(gets_in([&] {
    OpenSsl client(words);
    client.write(raw_preamble(kProtocolVersion));
    EXPECT_THAT(client.read_until("SHOA"), HasSubstr("SHOA"));
  }));
}

TEST_F(OpenSslProgram, FindsTls13WithAnEphemeralKeyAndNoCertificate) {
  auto words = client_words(key());
  words.push_back("-tls1_3");
  gets_in([&] {
    OpenSsl client(words);
    const std::string& printed = client.read_until("Verify return code");
    EXPECT_THAT(printed,
                testing::ContainsRegex("Reused, TLSv1.3, Cipher is TLS_[A-Z0-9_]+_SHA256\n"));  // Reused by the key.
    EXPECT_THAT(printed, HasSubstr("no peer certificate available"));
    EXPECT_THAT(printed, testing::AnyOf(HasSubstr("Server Temp Key:"), HasSubstr("Peer Temp Key:"),
                                        HasSubstr("Negotiated TLS1.3 group")));
  });
}

TEST_F(OpenSslProgram, FailsWithAnotherKey) {
  std::string wrong = key();
  wrong[5] = wrong[5] == '0' ? '1' : '0';
  auto words = client_words(wrong);
  words.insert(words.end(), {"-tls1_3", "-quiet"});
  EXPECT_FALSE(gets_in([&] {
    OpenSsl client(words);
    EXPECT_THAT(client.read_until("alert"), HasSubstr("alert"));
  }));
}

TEST_F(OpenSslProgram, FailsWithoutAKeyAndByOlderTls) {
  for (const char* version : {"-tls1_3", "-tls1_2"}) {
    EXPECT_FALSE(gets_in([&] {
      OpenSsl client({"s_client", "-connect", listener->endpoint().address, version, "-quiet"});
      EXPECT_THAT(client.read_until("alert"), HasSubstr("alert"));
    }));
  }
}

TEST_F(OpenSslProgram, AListenerWithACertificateInsteadOfTheKeyIsRefused) {
  const TemporaryFolder folder;
  OpenSsl make({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=impostor",
                "-keyout", folder / "key", "-out", folder / "certificate"});
  make.read_all();
  OpenSsl impostor(
      {"s_server", "-tls1_3", "-accept", "127.0.0.1:0", "-cert", folder / "certificate", "-key", folder / "key"});
  const std::string printed = impostor.read_until("ACCEPT 127.0.0.1:") + impostor.read_until("\n");
  const size_t at = printed.find("ACCEPT 127.0.0.1:");
  ASSERT_NE(at, std::string::npos) << printed;
  const Endpoint there{"tcp", "127.0.0.1:" + std::to_string(std::stoi(printed.substr(at + 17)))};
  const auto call = [&]() -> Task<Done> {
    Environment& client = tasks.client();
    Result<Link> link = co_await tasks.transport(client).connect(there, options, tasks.soon(client));
    expect_error(link, ErrorKind::kFailedPrecondition, "has a certificate, but this task has a token");
    co_return Done();
  };
  tasks.run_client(call());
}

}  // namespace
}  // namespace shoal::transport
