// SPDX-License-Identifier: Apache-2.0
// The files `training_finished` and `training_run`: both have the same text here. A mark that is understood is understood
// again as it is written, and whatever lies there, runs are counted.
#include <cstdlib>

#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/run_count.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::checkpoint;
  const std::string_view text = fuzz::Input(data, size).text();
  Result<EndMark> mark = decode_end_mark(text);
  if (mark) {
    Result<EndMark> again = decode_end_mark(encode_end_mark(*mark));
    SHOAL_CHECK(again.has_value());
    // A number of seconds with six digits behind the point does not tell every microsecond of the year 2255.
    SHOAL_CHECK(std::abs((again->wall_time - mark->wall_time) / std::chrono::microseconds(1)) <= 2);
    again->wall_time = mark->wall_time;
    SHOAL_CHECK(*again == *mark);
  } else {
    SHOAL_CHECK(mark.error().kind() == ErrorKind::kDataLoss);
    fuzz::touch(mark.error().message());
  }
  fuzz::MemoryStorage storage;
  storage.files = {{"m/training_finished", std::string(text)}, {"m/training_run", std::string(text)}};
  const auto run = newest_run(storage, "m", [](const std::string& sentence) { fuzz::touch(sentence); });
  SHOAL_CHECK(run && *run >= 0);
  return 0;
}
