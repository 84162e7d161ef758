// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two tasks and a transport between them, in each of the ways that a transport can be met: as two threads with real time,
/// or inside a VirtualWorld.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/base/virtual.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/registry.h"
#include "shoal/transport/sim.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// How much longer than usual tests wait: an emulator, which translates programs, is slow.
inline constexpr int kSlowness = std::string_view(SHOAL_TEST_EMULATOR).empty() ? 1 : 10;

struct Setting {
  std::string scheme;
  bool virtual_time = false;
  bool one_process = false;   ///< All its tasks are of one process, so none can stop alone.
  bool token = false;         ///< Both tasks have the same token.
  bool certificates = false;  ///< Both tasks have certificates of one CA.
  std::string without;        ///< A transport that the server's build lacks.
  Duration spin{};            ///< How long both event loops spin.

  friend void PrintTo(const Setting& setting, std::ostream* out) {
    *out << setting.scheme << (setting.virtual_time ? ", virtual time" : "") << (setting.token ? ", with a token" : "")
         << (setting.certificates ? ", with certificates" : "");
  }
};
/// Every plug-in of this build, on threads; inproc in virtual time and sim as well, and those that leave
/// the machine with a token or certificates too.
std::vector<Setting> all_settings();
/// Those whose tasks can be processes; without credentials.
std::vector<Setting> settings_between_processes();
/// Those of settings_between_processes() that have real time.
std::vector<Setting> settings_of_threads();
std::string setting_name(const testing::TestParamInfo<Setting>& info);

/// Any free address of a scheme.
Endpoint any_address(std::string_view scheme);

class TwoTasks {
 public:
  explicit TwoTasks(const Setting& setting);
  ~TwoTasks();

  Environment& server() { return *server_; }
  Environment& client() { return *client_; }
  Transport& transport(Environment& env);
  const Setting& setting() const { return setting_; }
  /// The credential of both tasks; null if the setting has none.
  const std::shared_ptr<const Credential>& credential() const { return credential_; }
  /// What both have logged so far, a line each.
  std::string log() const;
  /// Both run to their ends at the same time; errors of either fail the test.
  void run(Task<Result<void>> server, Task<Result<void>> client);
  /// The client's task alone.
  void run_client(Task<Result<void>> task);
  /// Ends a task and its environment, as a thread does that leaves (threads only).
  void end_client();
  // What a virtual world has, too:
  VirtualWorld& world() { return *world_; }
  SimNetwork& network() { return *network_; }
  Environment& add_task(const std::string& name);
  /// Soon enough for everything that should happen, late enough for slow machines.
  Deadline soon(Environment& env) { return env.after(kSlowness * std::chrono::seconds(20)); }

 private:
  LogSink quiet();

  Setting setting_;
  std::shared_ptr<const Credential> credential_;
  mutable std::mutex log_mutex_;
  std::string log_;  // Guarded by log_mutex_.
  std::shared_ptr<InprocHub> hub_;
  TransportTable table_;
  std::shared_ptr<SimNetwork> network_;
  std::unique_ptr<VirtualWorld> world_;
  std::unique_ptr<Environment> owned_server_, owned_client_;
  Environment* server_ = nullptr;
  Environment* client_ = nullptr;
};

/// A fresh one.
std::shared_ptr<const Credential> make_token();
/// A message that says which it is.
Message numbered(uint64_t sequence);
Message weights_of(Environment& env, size_t bytes, uint64_t sequence);

/// `result` is an error of this kind, whose sentence has `part` in it.
template <class T>
void expect_error(const Result<T>& result, ErrorKind kind, const std::string& part = "") {
  EXPECT_FALSE(result);
  if (result) return;
  EXPECT_EQ(result.error().kind(), kind) << result.error().message();
  EXPECT_THAT(result.error().message(), testing::HasSubstr(part));
}
/// `result` is exactly this error.
template <class T>
void expect_error(const Result<T>& result, const Error& error) {
  EXPECT_FALSE(result);
  if (result) return;
  EXPECT_EQ(result.error().kind(), error.kind());
  EXPECT_EQ(result.error().message(), error.message());
}

/// What this process holds, from /proc.
size_t open_files();
size_t threads();
size_t resident_bytes();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // Tests are slow then, and memory that was freed is kept for a while.
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace shoal::transport
