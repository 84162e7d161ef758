// SPDX-License-Identifier: Apache-2.0
// Shoal's side of bench/input/compare, which runs it in turn with peers.py.
//
//   input_bench --folder DIR --make MEGABYTES          writes the files that both read (files.h)
//   input_bench --folder DIR [--batch N] [--threads N]
//
// Writes a line of JSON when it is ready, and then one for each line that it reads, until its input ends:
//
//   check WORK    goes through the pipeline once and adds all values up: {"elements", "bytes", "sum"}
//   time WORK     goes through it once: {"elements", "bytes", "seconds"}
//
// The works are those of works.h.
#include <chrono>
#include <cstdio>
#include <iostream>

#include "files.h"
#include "program.h"
#include "works.h"

namespace shoal::bench {
namespace {

Result<void> answer(const std::string& command, const std::string& work, const InputOptions& options) {
  const bool sums = command == "check";
  const auto start = std::chrono::steady_clock::now();
  Passed passed;
  if (works().contains(work)) {
    passed = pass(work, options, sums);
  } else {
    SHOAL_TRY(passed, pass_alone(work, options, sums));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("{\"elements\": %lld, \"bytes\": %lld, \"%s\": %.17g}\n", (long long)passed.elements, (long long)passed.bytes,
              sums ? "sum" : "seconds", sums ? passed.sum : seconds);
  std::fflush(stdout);
  return {};
}

Result<void> answer_all(const InputOptions& options) {
  std::printf("{\"name\": \"Shoal\"}\n");
  std::fflush(stdout);
  for (std::string command, work; std::cin >> command >> work;) SHOAL_TRY_VOID(answer(command, work, options));
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  using namespace shoal::bench;
  CLI::App app("Input pipelines, pass by pass, as bench/input/compare tells it.");
  InputOptions options;
  int64_t megabytes = 0;
  app.add_option("--folder", options.folder, "where the files are")->required();
  app.add_option("--make", megabytes, "writes the files, of so many megabytes each, and ends")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--batch", options.batch, "elements of a batch")->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", options.threads, "threads of a pipeline")->check(CLI::Range(1, 64));
  parse_or_exit(app, argc, argv);
  return run_program("input_bench", [&]() -> shoal::Result<void> {
    if (megabytes == 0) return answer_all(options);
    make_files(options.folder, megabytes);
    return {};
  });
}
