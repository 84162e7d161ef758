// SPDX-License-Identifier: Apache-2.0
#include "launch/task_process.h"

#include <signal.h>
#include <sys/wait.h>

namespace shoal::cli::launch {
namespace {

constexpr size_t kBytesOfATurn = size_t(256) * 1024;   // The most bytes read at a time, since other tasks write, too.
constexpr size_t kBytesOfAPipe = size_t(1024) * 1024;  // The most bytes that read_rest() reads: a pipe holds no more.

}  // namespace

void TaskProcess::send(int signal, SteadyTime now) {
  if (!link_) {
    group_.send(signal);
  } else if (!link_->send(signal, now)) {
    group_.send(SIGKILL);
  }
}

void TaskProcess::time_passed(SteadyTime now) {
  if (link_ && !link_->time_passed(now)) group_.send(SIGKILL);
}

void TaskProcess::take_output(std::string_view bytes) {
  if (link_) {
    output_.take(link_->take(bytes));
  } else {
    output_.take(bytes);
  }
}

void TaskProcess::read(bool output_is_ready, bool errors_are_ready) {
  if (output_is_ready && !read_what_is_there(
                             group_.output().number(), [this](auto bytes) { take_output(bytes); }, kBytesOfATurn)) {
    if (link_) output_.take(link_->finish());
    output_.finish();
    group_.output().close();
  }
  if (errors_are_ready && !read_what_is_there(
                              group_.errors().number(), [this](auto bytes) { errors_.take(bytes); }, kBytesOfATurn)) {
    errors_.finish();
    group_.errors().close();
  }
}

void TaskProcess::read_rest() {
  if (group_.output()) {
    read_what_is_there(
        group_.output().number(), [this](auto bytes) { take_output(bytes); }, kBytesOfAPipe);
    if (link_) output_.take(link_->finish());
  }
  if (group_.errors()) {
    read_what_is_there(
        group_.errors().number(), [this](auto bytes) { errors_.take(bytes); }, kBytesOfAPipe);
  }
  output_.finish();
  errors_.finish();
}

Ending TaskProcess::ending() const {
  if (link_) return link_->ending();
  const int status = *group_.program_status();
  Ending ending;
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
  return ending;
}

}  // namespace shoal::cli::launch
