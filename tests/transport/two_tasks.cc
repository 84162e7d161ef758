// SPDX-License-Identifier: Apache-2.0
#include "two_tasks.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "shoal/base/production.h"
#include "test_authority.h"

namespace shoal::transport {

namespace {
/// The reach of each plug-in of this build, asked once.
const std::map<std::string, Reach, std::less<>>& reaches() {
  static const auto all = [] {
    std::map<std::string, Reach, std::less<>> reaches;
    const auto env = make_production_environment({.task = "reach", .sink = {}, .transports = built_in_transports()});
    for (const auto& [scheme, factory] : built_in_transports()) reaches.emplace(scheme, (*env->transport(scheme))->reach());
    return reaches;
  }();
  return all;
}
}  // namespace

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const auto& [scheme, reach] : reaches())
    settings.push_back({.scheme = scheme, .one_process = reach == Reach::kProcess});
  settings.push_back({.scheme = "inproc", .virtual_time = true, .one_process = true});
  settings.push_back({.scheme = "sim", .virtual_time = true});
  for (const auto& [scheme, reach] : reaches()) {
    if (!SHOAL_TEST_TLS || reach != Reach::kNetwork) continue;
    settings.push_back({.scheme = scheme, .token = true});
    settings.push_back({.scheme = scheme, .certificates = true});
  }
  return settings;
}

std::vector<Setting> settings_between_processes() {
  std::vector<Setting> settings = all_settings();
  std::erase_if(settings, [](const Setting& one) { return one.one_process || one.token || one.certificates; });
  return settings;
}

std::vector<Setting> settings_of_threads() {
  std::vector<Setting> settings = settings_between_processes();
  std::erase_if(settings, [](const Setting& one) { return one.virtual_time; });
  return settings;
}

std::string setting_name(const testing::TestParamInfo<Setting>& info) {
  return info.param.scheme + (info.param.virtual_time ? "_virtual" : "_threads") + (info.param.token ? "_token" : "") +
         (info.param.certificates ? "_certificates" : "");
}

Endpoint any_address(std::string_view scheme) {
  const auto reach = reaches().find(scheme);
  const bool by_host = reach != reaches().end() && reach->second == Reach::kNetwork;
  return {std::string(scheme), by_host ? "127.0.0.1:0" : "here:0"};
}

TwoTasks::TwoTasks(const Setting& setting)
    : setting_(setting), hub_(std::make_shared<InprocHub>()), table_(built_in_transports()) {
  table_["inproc"] = inproc_factory(hub_);
  if (setting.token) credential_ = make_token();
  if (setting.certificates) credential_ = TestAuthority().credential("worker", 0);
  if (setting.virtual_time) {
    network_ = std::make_shared<SimNetwork>(1, SimLink{.jitter = std::chrono::microseconds(20), .loss = 0.001});
    world_ = std::make_unique<VirtualWorld>();
    server_ = &add_task("server");
    client_ = &add_task("client");
    return;
  }
  const LogSink sink = quiet();
  owned_client_ = make_production_environment({.task = "client", .sink = sink, .transports = table_, .spin = setting.spin});
  table_.erase(setting.without);
  owned_server_ = make_production_environment({.task = "server", .sink = sink, .transports = table_, .spin = setting.spin});
  server_ = owned_server_.get();
  client_ = owned_client_.get();
}

LogSink TwoTasks::quiet() {
  return [this](const LogRecord& record) {
    const std::lock_guard lock(log_mutex_);
    log_ += std::string(record.message) + "\n";
  };
}

Environment& TwoTasks::add_task(const std::string& name) {
  TransportTable table = table_;
  table["sim"] = sim_factory(network_, name);
  return world_->add_task({.task = name, .sink = quiet(), .transports = std::move(table)});
}

TwoTasks::~TwoTasks() = default;

std::string TwoTasks::log() const {
  const std::lock_guard lock(log_mutex_);
  return log_;
}

Transport& TwoTasks::transport(Environment& env) { return **env.transport(setting_.scheme); }

void TwoTasks::run(Task<Result<void>> server, Task<Result<void>> client) {
  Result<void> served, called;
  if (world_) {
    client_->post([&client] { client.start(); });
    served = server_->run(std::move(server));
    world_->run_for(std::chrono::minutes(10));
    ASSERT_TRUE(client.done());
    called = client.take();
  } else {
    std::thread other([&] { served = server_->run(std::move(server)); });
    called = client_->run(std::move(client));
    other.join();
  }
  EXPECT_TRUE(served) << served.error().message();
  EXPECT_TRUE(called) << called.error().message();
}

void TwoTasks::run_client(Task<Result<void>> task) {
  const Result<void> done = client_->run(std::move(task));
  EXPECT_TRUE(done) << done.error().message();
}

void TwoTasks::end_client() {
  owned_client_.reset();
  client_ = nullptr;
}

std::shared_ptr<const Credential> make_token() { return std::make_shared<const Credential>(Token::fresh()); }

Message numbered(uint64_t sequence) {
  Message message;
  message.head.kind = MessageKind::kPull;
  message.head.sequence = sequence;
  return message;
}

Message weights_of(Environment& env, size_t bytes, uint64_t sequence) {
  Message message = make_weights(env.buffers(), bytes);
  message.head.sequence = sequence;
  const auto payload = mutable_payload(message);
  std::memset(payload.data(), int(sequence & 0xff), payload.size());
  return message;
}

namespace {
size_t entries(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}
}  // namespace

size_t open_files() { return entries("/proc/self/fd"); }
size_t threads() { return entries("/proc/self/task"); }
size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * size_t(::sysconf(_SC_PAGESIZE));
}

}  // namespace shoal::transport
