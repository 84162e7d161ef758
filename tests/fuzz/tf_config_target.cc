// SPDX-License-Identifier: Apache-2.0
// TF_CONFIG. A task that is understood can be described, and that description is understood as the same task.
#include "shoal/base/check.h"
#include "shoal/cluster/tf_config.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal::cluster;
  const shoal::Result<TaskConfig> task = parse_tf_config(shoal::fuzz::Input(data, size).text());
  if (!task) {
    SHOAL_CHECK(task.error().message().starts_with("TF_CONFIG"));
    return 0;
  }
  SHOAL_CHECK(task->trainer_index() >= 0 && task->trainer_index() < task->num_trainers());
  shoal::fuzz::touch(task->name());
  (void)check_runnable(*task);
  const std::string text = to_tf_config(*task);
  const shoal::Result<TaskConfig> again = parse_tf_config(text);
  SHOAL_CHECK(again && to_tf_config(*again) == text);
  return 0;
}
