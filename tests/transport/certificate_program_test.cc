// SPDX-License-Identifier: Apache-2.0
/// Certificates, as the openssl program reads them, and those that it makes.
#include <utility>

#include "../base/temporary_folder.h"
#include "openssl_program.h"
#include "test_authority.h"
#include "tls_meetings.h"

namespace shoal::transport {
namespace {

class CertificatesOfProgram : public TlsMeetings {
 protected:
  CertificatesOfProgram() : TlsMeetings(Setting{"tcp"}) {}
  std::optional<TestAuthority> authority;
  TemporaryFolder folder;
  std::string ca, ca_key;

  void SetUp() override {
    TlsMeetings::SetUp();
    if (IsSkipped()) return;
    if (const std::string missing = openssl_program_missing(); !missing.empty()) GTEST_SKIP() << missing;
    authority.emplace();
    ca = folder.write("ca.pem", authority->certificate());
    ca_key = folder.write("ca.key", authority->own().key.text());
    options.credential = authority->credential("ps", 0);
  }
  /// What it prints, with these words.
  static std::string openssl(std::vector<std::string> words) { return OpenSsl(std::move(words)).read_all(); }
  /// A key pair that the program makes, with these lines as extensions; signed by the CA, or by itself.
  KeyPair make(const std::string& extensions, bool by_itself = false) {
    const std::string config = folder.write("extensions", extensions);
    openssl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "made.key"});
    openssl({"req", "-new", "-key", folder / "made.key", "-subj", "/CN=made", "-out", folder / "made.csr"});
    std::vector<std::string> words{"x509",     "-req", "-in",  folder / "made.csr", "-days", "1",
                                   "-extfile", config, "-out", folder / "made.pem"};
    const auto by = by_itself ? std::vector<std::string>{"-signkey", folder / "made.key"}
                              : std::vector<std::string>{"-CA", ca, "-CAkey", ca_key, "-CAcreateserial"};
    words.insert(words.end(), by.begin(), by.end());
    const std::string printed = openssl(words);
    const auto text = [&](const char* name) {
      std::ifstream file(folder / name);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    KeyPair made{text("made.pem"), Secret(text("made.key"))};
    EXPECT_THAT(made.certificate, HasSubstr("BEGIN CERTIFICATE")) << printed;
    return made;
  }
  std::vector<std::string> client_words(const KeyPair& own) {
    return {"s_client",
            "-connect",
            listener->endpoint().address,
            "-tls1_3",
            "-quiet",
            "-cert",
            folder.write("own.pem", own.certificate),
            "-key",
            folder.write("own.key", own.key.text()),
            "-CAfile",
            ca,
            "-verify_return_error"};
  }
  /// Who got in while `meet` ran, if anybody did.
  std::optional<PeerIdentity> who_gets_in(const std::function<void()>& meet) {
    return guest_of(server, *listener, meet).who;
  }
  void expect_stranger(std::vector<std::string> words, const std::string& logged) {
    EXPECT_EQ(who_gets_in([&] {
                OpenSsl stranger(std::move(words));
                stranger.write(raw_preamble(kProtocolVersion));
                EXPECT_THAT(stranger.read_until("alert"), HasSubstr("alert"));
              }),
              std::nullopt);
    EXPECT_THAT(tasks.log(), HasSubstr(logged));
  }
};

TEST_F(CertificatesOfProgram, VerifyWhatWeMake) {
  const std::string own = folder.write("own.pem", authority->make("worker", 3).certificate);
  for (const char* purpose : {"sslclient", "sslserver"})
    EXPECT_THAT(openssl({"verify", "-x509_strict", "-purpose", purpose, "-CAfile", ca, own}), HasSubstr("own.pem: OK"));
  EXPECT_THAT(openssl({"verify", "-CAfile", folder.write("other.pem", TestAuthority().certificate()), own}),
              HasSubstr("unable to get local issuer certificate"));
  const std::string text = openssl({"x509", "-in", own, "-noout", "-text"});
  EXPECT_THAT(text, testing::ContainsRegex("Subject: O ?= ?Shoal, CN ?= ?worker 3\n"));
  for (const char* part :
       {"Version: 3", "URI:shoal:task/worker/3", "CA:FALSE", "Digital Signature",
        "TLS Web Client Authentication, TLS Web Server Authentication", "ecdsa-with-SHA256", "prime256v1"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(openssl({"x509", "-in", ca, "-noout", "-text"}), HasSubstr("CA:TRUE, pathlen:0"));
}

TEST_F(CertificatesOfProgram, ItsClientGetsIn) {
  listen();
  const auto words = client_words(authority->make("worker", 3));
  EXPECT_EQ(who_gets_in([&] {
              OpenSsl program(words);
              program.write(raw_preamble(kProtocolVersion));
              EXPECT_THAT(program.read_until("SHOA"), HasSubstr("SHOA"));
            }),
            (PeerIdentity{"worker", 3}));
}

TEST_F(CertificatesOfProgram, ItsOwnCertificatesAreGoodToo) {
  listen();
  const auto words =
      client_words(make("subjectAltName=URI:shoal:task/evaluator/0\nextendedKeyUsage=clientAuth,serverAuth\n"));
  EXPECT_EQ(who_gets_in([&] {
              OpenSsl program(words);
              program.write(raw_preamble(kProtocolVersion));
              EXPECT_THAT(program.read_until("SHOA"), HasSubstr("SHOA"));
            }),
            (PeerIdentity{"evaluator", 0}));
}

TEST_F(CertificatesOfProgram, ForAnotherUseAreRefused) {
  listen();
  expect_stranger(client_words(make("subjectAltName=URI:shoal:task/worker/0\nextendedKeyUsage=serverAuth\n")),
                  "its certificate is for another use than this; make a new one");
  const KeyPair code = make("subjectAltName=URI:shoal:task/worker/0\nextendedKeyUsage=codeSigning\n");
  expect_error(Certificate::parse(code, authority->certificate()), ErrorKind::kFailedPrecondition,
               "is not for both sides of a TLS connection");
}

TEST_F(CertificatesOfProgram, ThatNameNoTaskAreRefused) {
  listen();
  for (const char* names :
       {"subjectAltName=DNS:worker-0\n", "subjectAltName=URI:shoal:task/worker/0,URI:shoal:task/chief/0\n",
        "subjectAltName=URI:shoal:task/worker/00\n", "basicConstraints=CA:FALSE\n"})
    expect_stranger(client_words(make(names)), "its certificate names no task (one URI, such as shoal:task/worker/0)");
}

TEST_F(CertificatesOfProgram, OfAWatcherIsForClientsAndGetsInNowhere) {
  const KeyPair watcher = value_or_raise(make_watcher_certificate(authority->own(), hours_from_now(-1, 1))).own;
  const std::string own = folder.write("watcher.pem", watcher.certificate);
  EXPECT_THAT(openssl({"verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", ca, own}),
              HasSubstr("watcher.pem: OK"));
  EXPECT_THAT(openssl({"verify", "-purpose", "sslserver", "-CAfile", ca, own}), testing::Not(HasSubstr("watcher.pem: OK")));
  EXPECT_EQ(openssl({"x509", "-in", own, "-noout", "-text"}).find("Alternative Name"), std::string::npos);
  listen();
  expect_stranger(client_words(watcher), "its certificate names no task (one URI, such as shoal:task/worker/0)");
}

TEST_F(CertificatesOfProgram, SignedByThemselvesAreRefused) {
  listen();
  expect_stranger(client_words(make("subjectAltName=URI:shoal:task/chief/0\n", true)),
                  "its certificate is signed by itself only; make the certificates of all tasks with one CA");
}

/// What a worker signs with its own key is worth nothing.
TEST_F(CertificatesOfProgram, SignedByATaskAreRefused) {
  listen();
  const KeyPair worker = authority->make("worker", 0);
  const std::string real_ca = std::exchange(ca, folder.write("worker.pem", worker.certificate));
  ca_key = folder.write("worker.key", worker.key.text());
  const KeyPair chief = make("subjectAltName=URI:shoal:task/chief/0\n");
  const std::string worker_pem = std::exchange(ca, real_ca);
  auto words = client_words(chief);
  words.insert(words.end(), {"-cert_chain", worker_pem});
  expect_stranger(words, "its certificate is ");
}

TEST_F(CertificatesOfProgram, ItsClientWithoutOneIsRefused) {
  listen();
  expect_stranger({"s_client", "-connect", listener->endpoint().address, "-tls1_3", "-quiet"},
                  "it has no certificate; start all tasks of a job with certificates of one CA (--tls-dir)");
}

TEST_F(CertificatesOfProgram, ByOlderTlsNobodyGetsIn) {
  listen();
  auto words = client_words(authority->make("worker", 3));
  words[3] = "-tls1_2";
  EXPECT_EQ(who_gets_in([&] { EXPECT_THAT(OpenSsl(words).read_until("alert"), HasSubstr("alert")); }), std::nullopt);
}

TEST_F(CertificatesOfProgram, KeysWithAPasswordAreNotAskedFor) {
  const KeyPair own = authority->make("worker", 0);
  const std::string key = folder.write("own.key", own.key.text());
  openssl({"ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", folder / "locked.key"});
  std::ifstream file(folder / "locked.key");
  const Secret locked(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_THAT(locked.text(), HasSubstr("ENCRYPTED"));
  expect_error(Certificate::parse({own.certificate, locked}, authority->certificate()), ErrorKind::kInvalidArgument,
               "or it has a password");
}

}  // namespace
}  // namespace shoal::transport
