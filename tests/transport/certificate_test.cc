// SPDX-License-Identifier: Apache-2.0
/// Certificates of tasks: made, read, and read from folders.
#include <sys/stat.h>

#include <chrono>

#include "../base/temporary_folder.h"
#include "test_authority.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using testing::HasSubstr;

TEST(TaskUri, IsReadAsItIsWritten) {
  const PeerIdentity tasks[] = {{"chief", 0}, {"worker", 12}, {"ps", 65535}, {"a_9", 1}, {std::string(32, 'r'), 0}};
  for (const PeerIdentity& task : tasks) EXPECT_EQ(value_or_raise(parse_task_uri(to_uri(task))), task);
  EXPECT_EQ(to_uri({"worker", 3}), "shoal:task/worker/3");
}

TEST(TaskUri, HasOneForm) {
  using std::string_literals::operator""s;
  const std::string wrong[] = {"",
                               "shoal:",
                               "shoal:task/",
                               "shoal:task/worker",
                               "shoal:task/worker/",
                               "shoal:task//0",
                               "shoal:task/worker/00",
                               "shoal:task/worker/01",
                               "shoal:task/worker/+1",
                               "shoal:task/worker/-1",
                               "shoal:task/worker/65536",
                               "shoal:task/worker/99999999999",
                               "shoal:task/worker/1 ",
                               "shoal:task/worker/1x",
                               "shoal:task/worker/1/2",
                               "shoal:task/Worker/1",
                               "shoal:task/wor ker/1",
                               "shoal:task/worker/0\0"s,
                               "shoal:task/wor\0ker/0"s,
                               "SHOAL:task/worker/0",
                               " shoal:task/worker/0",
                               "shoal:task/" + std::string(33, 'r') + "/0",
                               "https://worker/0"};
  for (const std::string& uri : wrong) expect_error(parse_task_uri(uri), ErrorKind::kInvalidArgument, "names no task");
}

TEST(UtcText, IsOfTheCalendar) {
  EXPECT_EQ(to_utc_text(std::chrono::sys_seconds(std::chrono::seconds(0))), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(to_utc_text(std::chrono::sys_seconds(std::chrono::seconds(1795356300))), "2026-11-22 14:05:00 UTC");
}

TEST(Certificate, NamesTheTaskThatItWasMadeFor) {
  const TestAuthority authority;
  const Validity validity = hours_from_now(-2, 3);
  const auto certificate =
      value_or_raise(Certificate::parse(authority.make("worker", 7, validity), authority.certificate()));
  EXPECT_EQ(certificate.owner(), (PeerIdentity{"worker", 7}));
  EXPECT_EQ(certificate.validity().begin, validity.begin);
  EXPECT_EQ(certificate.validity().end, validity.end);
  EXPECT_EQ(value_or_raise(owner_of_certificate(certificate.certificate())), certificate.owner());
}

TEST(Certificate, LastsBeyondTheEndOf32BitClocks) {
  const Validity validity = {.begin = hours_from_now(-1, 0).begin,
                             .end = std::chrono::sys_days(std::chrono::year(2126) / 2 / 28)};
  const TestAuthority authority(validity);
  const auto certificate = value_or_raise(Certificate::parse(authority.make("ps", 0, validity), authority.certificate()));
  EXPECT_EQ(certificate.validity().end, validity.end);
}

TEST(Certificate, EndsWithItsAuthority) {
  const TestAuthority authority(hours_from_now(-2, 5));
  const auto certificate =
      value_or_raise(Certificate::parse(authority.make("worker", 0, hours_from_now(-1, 100)), authority.certificate()));
  EXPECT_LE(certificate.validity().end, hours_from_now(0, 5).end);
  const TestAuthority expired(hours_from_now(-5, -3));
  expect_error(make_task_certificate(expired.own(), {"worker", 0}, hours_from_now(-1, 1)), ErrorKind::kFailedPrecondition,
               "the CA's certificate has expired, on ");
}

TEST(Certificate, IsReadWhateverTheTime) {
  const TestAuthority authority;
  for (const auto& [begin, end] : {std::pair(-3, -2), std::pair(2, 3)})
    EXPECT_TRUE(Certificate::parse(authority.make("worker", 0, hours_from_now(begin, end)), authority.certificate()));
}

TEST(Certificate, OfSeveralAuthoritiesOneMustHaveSignedIt) {
  const TestAuthority one, other;
  const KeyPair own = one.make("worker", 0);
  EXPECT_TRUE(Certificate::parse(own, other.certificate() + one.certificate()));
  expect_error(Certificate::parse(own, other.certificate()), ErrorKind::kFailedPrecondition,
               "the certificate: is not signed by the CA beside it");
}

TEST(Certificate, AndKeyBelongTogether) {
  const TestAuthority authority;
  KeyPair own = authority.make("worker", 0);
  own.key = authority.make("worker", 0).key;
  expect_error(Certificate::parse(own, authority.certificate()), ErrorKind::kInvalidArgument,
               "the key belongs to another certificate");
}

TEST(Certificate, OfACaIsNotThatOfATask) {
  const TestAuthority authority;
  expect_error(Certificate::parse(authority.own(), authority.certificate()), ErrorKind::kFailedPrecondition,
               "names no task");
  // Nor the other way round: a task signs nobody.
  expect_error(make_task_certificate(authority.make("worker", 0), {"worker", 1}, hours_from_now(-1, 1)),
               ErrorKind::kFailedPrecondition, "is not one of a CA");
}

TEST(Certificate, OfAWatcherIsNotThatOfATask) {
  const TestAuthority authority(hours_from_now(-2, 5));
  const WatcherCertificate watcher = value_or_raise(make_watcher_certificate(authority.own(), hours_from_now(-1, 100)));
  EXPECT_LE(watcher.validity.end, hours_from_now(0, 5).end);
  expect_error(Certificate::parse(watcher.own, authority.certificate()), ErrorKind::kFailedPrecondition, "names no task");
  expect_error(make_watcher_certificate(watcher.own, hours_from_now(-1, 1)), ErrorKind::kFailedPrecondition,
               "is not one of a CA");
  const TestAuthority expired(hours_from_now(-5, -3));
  expect_error(make_watcher_certificate(expired.own(), hours_from_now(-1, 1)), ErrorKind::kFailedPrecondition,
               "the CA's certificate has expired, on ");
}

TEST(Certificate, NonsenseIsRefused) {
  const TestAuthority authority;
  const KeyPair own = authority.make("worker", 0);
  const std::string whole = own.certificate;
  const auto parse = [&](const std::string& certificate, const std::string& key, const std::string& authorities) {
    return Certificate::parse({certificate, Secret(key)}, authorities);
  };
  const std::string& key = own.key.text();
  expect_error(parse("", key, authority.certificate()), ErrorKind::kInvalidArgument, "contains 0 in PEM");
  expect_error(parse(whole + whole, key, authority.certificate()), ErrorKind::kInvalidArgument, "contains 2 in PEM");
  expect_error(parse(whole, "", authority.certificate()), ErrorKind::kInvalidArgument, "the key: the file contains none");
  expect_error(parse(whole, key, "x"), ErrorKind::kInvalidArgument, "the CA's certificate: the file contains none");
  for (size_t bytes = 0; bytes < whole.size() - 10; bytes += 7)
    EXPECT_FALSE(parse(whole.substr(0, bytes), key, authority.certificate())) << bytes;
  for (size_t bytes = 0; bytes < key.size() - 10; bytes += 7)
    EXPECT_FALSE(parse(whole, key.substr(0, bytes), authority.certificate())) << bytes;
  std::string changed = whole;
  for (size_t at = 60; at < whole.size() - 40; at += 5) {
    changed[at] = whole[at] == 'A' ? 'B' : 'A';
    // It may be the same where a bit has no meaning, but must not crash.
    (void)parse(changed, key, authority.certificate());
    changed[at] = whole[at];
  }
  expect_error(owner_of_certificate("no DER"), ErrorKind::kFailedPrecondition, "is no certificate");
}

class TlsFolder : public testing::Test {
 protected:
  TemporaryFolder folder;
  const TestAuthority authority;

  void write(const std::string& name, const std::string& text, mode_t mode) {
    ::chmod((folder / name).c_str(), 0600);
    ::chmod(folder.write(name, text).c_str(), mode);
  }
  void write_all(const KeyPair& own) {
    write(kAuthorityFile, authority.certificate(), 0644);
    write(kCertificateFile, own.certificate, 0644);
    write(kKeyFile, own.key.text(), 0600);
  }
  Result<std::shared_ptr<const Credential>> find(WallTime now = std::chrono::system_clock::now()) {
    return find_credential({.tls_dir = folder.path()}, now);
  }
};

TEST_F(TlsFolder, HoldsACredential) {
  write_all(authority.make("ps", 2));
  EXPECT_EQ(std::get<Certificate>(*value_or_raise(find())).owner(), (PeerIdentity{"ps", 2}));
}

TEST_F(TlsFolder, IsItsOwnersOnly) {
  write_all(authority.make("ps", 2));
  for (const mode_t mode : {0640, 0604, 0660}) {
    write(kKeyFile, authority.make("ps", 2).key.text(), mode);
    expect_error(find(), ErrorKind::kFailedPrecondition, "chmod 600 " + folder.path() + "/task.key");
  }
  write_all(authority.make("ps", 2));
  write(kAuthorityFile, authority.certificate(), 0664);
  expect_error(find(), ErrorKind::kFailedPrecondition, "chmod go-w " + folder.path() + "/ca.pem");
}

TEST_F(TlsFolder, IsWhole) {
  for (const char* name : {kAuthorityFile, kCertificateFile, kKeyFile}) {
    write_all(authority.make("ps", 2));
    std::filesystem::remove(folder / name);
    expect_error(find(), ErrorKind::kNotFound, folder / name);
  }
  expect_error(find_credential({.tls_dir = folder / "none"}, WallTime()), ErrorKind::kNotFound, folder / "none/ca.pem");
}

TEST_F(TlsFolder, IsValidNow) {
  const Validity validity = hours_from_now(2, 3);
  write_all(authority.make("ps", 2, validity));
  EXPECT_TRUE(find(validity.begin));
  EXPECT_TRUE(find(validity.end));  // Both times are included.
  expect_error(find(std::chrono::sys_seconds{}), ErrorKind::kFailedPrecondition,
               "the clock of this machine says 1970-01-01 00:00:00 UTC, which is before this program was built");
  expect_error(find(validity.begin - std::chrono::seconds(1)), ErrorKind::kFailedPrecondition, "is not valid before 20");
  expect_error(find(validity.end + std::chrono::seconds(1)), ErrorKind::kFailedPrecondition,
               "the certificate has expired, on 20");
}

// It is valid until 9999 (RFC 5280, 4.1.2.5), which is beyond what nanoseconds reach.
TEST_F(TlsFolder, MayBeValidForGood) {
  const Validity validity{.begin = hours_from_now(-1, 0).begin,
                          .end = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31)};
  const TestAuthority lasting(validity);
  write_all(lasting.make("ps", 2, validity));
  write(kAuthorityFile, lasting.certificate(), 0644);
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(std::get<Certificate>(**found).validity().end, validity.end);
}

TEST_F(TlsFolder, ExcludesAToken) {
  write_all(authority.make("ps", 2));
  const std::string token = Token::fresh().to_text();
  expect_error(find_credential({.token = {.text = token}, .tls_dir = folder.path()}, WallTime()),
               ErrorKind::kInvalidArgument, "a token (SHOAL_TOKEN) are given");
  expect_error(find_credential({.token = {.file = "any"}, .tls_dir = folder.path()}, WallTime()),
               ErrorKind::kInvalidArgument, "a token (--token-file, SHOAL_TOKEN_FILE) are given");
  EXPECT_EQ(std::get<Token>(*value_or_raise(find_credential({.token = {.text = token}}, WallTime()))).to_text(), token);
  EXPECT_EQ(value_or_raise(find_credential({}, WallTime())), nullptr);
}

}  // namespace
}  // namespace shoal::transport
