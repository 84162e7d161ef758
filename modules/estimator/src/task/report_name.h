// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The name of the report that the leading task of a run leaves in model_dir (docs/formats.md).

namespace shoal {

inline constexpr const char* kReportName = "report.json";

}  // namespace shoal
