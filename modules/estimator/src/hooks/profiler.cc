// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/profiler.h"

#include <algorithm>

#include "shoal/backends/profile.h"
#include "shoal/base/storage.h"

namespace shoal {
namespace {

class ProfilerHook final : public Hook {
 public:
  explicit ProfilerHook(ProfilerOptions options) : options_(std::move(options)) {}

  void begin(HookSetup&) override {  // One hook may serve several runs, so each run begins with a reset.
    profiler_.reset();
    done_ = false;
  }
  void before_step(RunContext& run, StepRequest& request) override {
    if (done_ || run.iterations() < uint64_t(options_.skip)) return;
    if (!profiler_) {
      profiler_ = std::make_unique<backends::Profiler>([&env = run.env()] { return env.now(); });
    }
    request.observe(*profiler_);
  }
  void after_step(RunContext& run, const StepValues&) override {
    if (!done_ && profiler_ && profiler_->runs() >= options_.steps) report(run);
  }
  void end(RunContext& run) override {
    if (done_) return;
    if (profiler_ && profiler_->runs() > 0) return report(run);
    run.log().warning("profile: the run ended within the " + std::to_string(options_.skip) +
                      " steps that are not measured; train for more");
  }

 private:
  void report(RunContext& run) {
    done_ = true;
    const backends::Profile profile =
        profiler_->profile(options_.limits ? *options_.limits : run.machine_limits(profiler_->threads()));
    const std::string table = to_table(profile);
    for (size_t begin = 0, end = 0; begin < table.size(); begin = end + 1) {
      end = std::min(table.find('\n', begin), table.size());
      run.log().info(table.substr(begin, end - begin));
    }
    const std::string path = join_path(run.model_dir(), options_.file);
    value_or_raise(run.env().storage().write_atomically(path, to_json(profile) + "\n"));
    run.log().info("profile written to " + path);
  }

  ProfilerOptions options_;
  std::unique_ptr<backends::Profiler> profiler_;
  bool done_ = false;
};

}  // namespace

std::shared_ptr<Hook> profiler(ProfilerOptions options) {
  if (options.skip < 0) raise(invalid_argument("profiler: skip must be at least 0, not " + std::to_string(options.skip)));
  if (options.steps < 1)
    raise(invalid_argument("profiler: steps must be at least 1, not " + std::to_string(options.steps)));
  return std::make_shared<ProfilerHook>(std::move(options));
}

}  // namespace shoal
