// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The report of a program as files: the one that SHOAL_REPORT_FILE names, and `report.json` in the folders whose training
/// this process led.
#include <optional>
#include <string>
#include <vector>

#include "task/report_name.h"
#include "task_reports.h"

namespace shoal {

/// Makes the report of the program. It contains what the tasks of this process know, and facts that are read from files of
/// model_dir: the last evaluation, the best evaluation and the newest export. If nothing was left to train, its flags, seed
/// and version are those of the start that trained. `failure`: the sentence of the error that
/// ended the program; None: no error.
ExperimentReport program_report(const TaskReports& reports, const CommandLine& line,
                                const std::optional<std::string>& failure = {});

/// The names of the flags, "model, seed", that the program was given, as its `own` report says, and that the program's
/// report has with other values or not at all, since nothing was left to train; empty: none.
std::string flags_not_used(const ExperimentReport& report, const ExperimentReport& own);

/// Writes report.json into each folder whose training this process led, unless another start of the job has begun to use
/// it. A process that only evaluated adds its evaluations to the report that the chief has written. Returns an error
/// message for each file that could not be written; such a file does not make the program fail.
std::vector<std::string> write_folder_reports(const TaskReports& reports, const CommandLine& line,
                                              const std::optional<std::string>& failure = {});

}  // namespace shoal
