// SPDX-License-Identifier: Apache-2.0
// Seeds of the target `onnx_model`: files of small models, which have every op between them, and one with text.
#include <algorithm>

#include "../convert/case_models.h"
#include "../convert/tiny_onnx.h"
#include "make_file_seeds.h"

namespace shoal::fuzz {

void write_onnx_seeds(const std::filesystem::path& folder) {
  constexpr size_t kBytesMax = 2500;  // Longer inputs are cut off where the targets are tests.
  const convert::Written written = convert::write_cases(convert::EmptyInputs::kAreThere);
  std::set<std::string> seen;
  for (size_t i = 0; i < written.jobs.size(); ++i) {
    const auto& [name, bytes, inputs] = written.jobs[i];
    std::set<std::string> ops = convert::ops_of(written.models[i]->model);
    if (bytes.size() > kBytesMax || std::ranges::includes(seen, ops)) continue;
    seen.merge(ops);
    write_seed(folder, "onnx_model", name, bytes);
  }
  write_seed(folder, "onnx_model", "text", convert::tiny_text_file().bytes());
}

}  // namespace shoal::fuzz
