// SPDX-License-Identifier: Apache-2.0
// Implements `shoal events DIR [--tag TAG]`.
#include <CLI/CLI.hpp>

#include "command.h"
#include "json_out.h"
#include "shoal/json/values.h"
#include "shoal/monitor/event_reader.h"

namespace shoal::cli {
namespace {

Json value_of(const monitor::EventValue& event) {
  using Kind = monitor::EventValue::Kind;
  switch (event.kind) {
    case Kind::kScalar: return json::number_json(event.scalar);
    case Kind::kText: return event.text;
    case Kind::kHistogram: {
      const monitor::Histogram& histogram = event.histogram;
      return Json{{"count", json::number_json(histogram.count)},
                  {"min", json::number_json(histogram.min)},
                  {"max", json::number_json(histogram.max)},
                  {"sum", json::number_json(histogram.sum)},
                  {"sum_squares", json::number_json(histogram.sum_squares)}};
    }
    case Kind::kOther: break;
  }
  return nullptr;
}

Result<int> print_events(Context& context, const std::string& folder, const std::string& tag) {
  // A folder that does not exist is an error, an empty one is not.
  SHOAL_TRY(const auto unused, context.storage.list(folder));
  int64_t replaced = 0;
  SHOAL_TRY(const auto damage, monitor::read_events(context.storage, folder, [&](const monitor::EventValue& event) {
              if (!tag.empty() && event.tag != tag) return true;
              replaced += !print_line(context.out, Json{{"step", event.global_step},
                                                        {"tag", event.tag},
                                                        {"value", value_of(event)},
                                                        {"wall_time", json::number_json(event.wall_time)}});
              return bool(context.out);  // It ends when nobody reads any more.
            }));
  if (replaced > 0) {
    context.complain(std::to_string(replaced) +
                     " events have text that is no UTF-8, which JSON cannot hold: such bytes are written as U+FFFD");
  }
  for (const Error& error : damage) context.complain(error.message());
  return damage.empty() ? 0 : exit_status(ErrorKind::kDataLoss);
}

struct EventsArguments {
  std::string folder;
  std::string tag;
};

}  // namespace

void add_events_command(CLI::App& app, Action& selected) {
  CLI::App* events = app.add_subcommand("events", "What a folder's event files hold, one line per value, in file order");
  const auto arguments = std::make_shared<EventsArguments>();
  events->add_option("DIR", arguments->folder, "The model_dir, or an eval folder below it")->required();
  events->add_option("--tag", arguments->tag, "Only values of this tag");
  events->callback([&selected, arguments] {
    selected = [arguments](Context& context) { return print_events(context, arguments->folder, arguments->tag); };
  });
}

}  // namespace shoal::cli
