// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program on shoal::run as a function of its arguments.
#include <mutex>
#include <string>
#include <vector>

#include "fixture.h"
#include "shoal/estimator/run.h"

namespace shoal::testing {

struct Outcome {
  int status = -1;
  std::string out, err;
  int calls = 0;
  CommandLine line;  ///< The command line of the last call.
};

inline const ProgramInfo kProgram{.description = "A program under test",
                                  .flags = {{"learning-rate", "How fast", 0.5, {}},
                                            {"units", "How wide", int64_t(16), {}},
                                            {"model", "Which", std::string("mlp"), {"mlp", "cnn"}},
                                            {"augment", "More data", false, {}},
                                            {"shuffle", "In any order", true, {}}},
                                  .steps = 100,
                                  .batch = 8,
                                  .save_checkpoints_steps = 50,
                                  .throttle_secs = 3};

inline Outcome run_program(std::vector<std::string> arguments, const ProgramBody& body = {},
                           const ProgramInfo& program = kProgram) {
  std::vector<const char*> argv{"program"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Outcome outcome;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  std::mutex mutex;
  outcome.status = run(int(argv.size()), argv.data(), program, [&](RunConfig config, const CommandLine& line) {
    {
      const std::lock_guard lock(mutex);  // Tasks of a cluster are threads.
      ++outcome.calls;
      outcome.line = line;
    }
    if (body) body(std::move(config), line);
  });
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace shoal::testing
