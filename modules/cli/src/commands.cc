// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <array>

namespace shoal::cli {

std::span<const AddCommand> all_commands() {
  static constexpr std::array kCommands {
    &add_checkpoint_command,
#if SHOAL_CLI_EXPERIMENTS
        &add_compare_command,
#endif
        &add_config_command,
#if SHOAL_CLI_DATA
        &add_data_command,
#endif
        &add_doctor_command, &add_events_command, &add_export_command, &add_keys_command, &add_launch_command,
#if SHOAL_CLI_EXPERIMENTS
        &add_plot_command,
#endif
        &add_predict_command, &add_profile_command, &add_status_command,
#if SHOAL_CLI_EXPERIMENTS
        &add_tune_command,
#endif
  };
  return kCommands;
}

}  // namespace shoal::cli
