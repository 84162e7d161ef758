// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tests of event files share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/base/virtual.h"
#include "shoal/monitor/event_reader.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::monitor::testing {

/// A folder for events, virtual time, and files as strings.
class EventFiles : public ::testing::Test {
 protected:
  std::unique_ptr<EventWriter> open_writer(EventWriterOptions options = {}) {
    if (options.host.empty()) options.host = "testhost";
    Result<std::unique_ptr<EventWriter>> writer = EventWriter::open(env, folder.path(), options);
    SHOAL_CHECK(writer.has_value());
    return std::move(writer).value();
  }
  static std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void overwrite(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  /// Every value that a reader finds until it stops.
  static std::vector<EventValue> drain(EventFileReader& reader) {
    std::vector<EventValue> values;
    for (EventValue value;;) {
      const Result<bool> found = reader.next(value);
      if (!found || !*found) return values;
      values.push_back(value);
    }
  }

  TemporaryFolder folder;
  VirtualWorld world{7};
  Environment& env = world.add_task();
};

}  // namespace shoal::monitor::testing
