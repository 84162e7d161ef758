#include "child_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "two_tasks.h"
#include "shoal/base/production.h"

extern char** environ;

namespace shoal::transport {

ChildProcess::ChildProcess(const Endpoint& endpoint) {
  std::vector<std::string> words;
  std::istringstream emulator(SHOAL_TEST_EMULATOR);  // of a cross build: the kernel cannot start this program itself
  for (std::string word; emulator >> word;) words.push_back(word);
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), {"--child", to_string(endpoint)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  EXPECT_EQ(::posix_spawnp(&id_, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
}

ChildProcess::~ChildProcess() {
  kill();
  ::waitpid(id_, nullptr, 0);
}

void ChildProcess::kill() { ::kill(id_, SIGKILL); }

int child_process(const char* endpoint) {
  const auto to = parse_endpoint(endpoint);
  if (!to) return 2;
  const auto env = make_production_environment({.task = "child", .transports = built_in_transports()});
  const auto holds = [&]() -> Task<Result<void>> {
    SHOAL_CO_TRY(Transport* const transport, env->transport(to->scheme));
    const LinkOptions options{.receive_bytes_max = uint64_t(1) << 30};
    SHOAL_CO_TRY(const std::unique_ptr<Connection> link,
                 co_await transport->connect(*to, options, env->after(std::chrono::seconds(30))));
    Message large = weights_of(*env, kHeldBytes, 1);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(large), env->after(std::chrono::seconds(30))));
    std::vector<Message> held;
    while (true) {
      SHOAL_CO_TRY(Message message, co_await link->receive(env->after(std::chrono::seconds(60))));
      Message word = numbered(message.head.sequence);
      held.push_back(std::move(message));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(word), env->after(std::chrono::seconds(60))));
    }
  };
  return env->run(holds()) ? 0 : 1;
}

}  // namespace shoal::transport
