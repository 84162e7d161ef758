// SPDX-License-Identifier: Apache-2.0
#include "virtual_program.h"

#include "shoal/base/check.h"
#include "shoal/base/cpu.h"

namespace shoal {

RunningProgram::~RunningProgram() {
  SHOAL_CHECK(done_ || !started_);  // ~VirtualWorld() has waited for all programs to end.
  if (thread_.joinable()) thread_.join();
}

void RunningProgram::resume() {
  entry_ = nullptr;
  if (!started_) {
    started_ = true;
    thread_ = std::thread([this] {
      program_turn_.acquire();
      flush_denormals();
      outcome_ = call_user("the program", body_);
      body_ = nullptr;  // Destroys the captures while the VirtualWorld still exists.
      done_ = true;
      give_back();
    });
  }
  program_turn_.release();
  driver_turn_.acquire();
}

void RunningProgram::wait_for(const Task<void>& entry) {
  entry_ = &entry;
  give_back();
  program_turn_.acquire();
}

}  // namespace shoal
