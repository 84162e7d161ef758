// SPDX-License-Identifier: Apache-2.0
// Implements `shoal events DIR [--tag TAG]`.

#include "command.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/json/values.h"
#include "shoal/monitor/event_reader.h"

namespace shoal::cli {
namespace {

/// Returns the shape of a tensor and, unless the tensor is large, its values as nested lists, one list for each row.
Json tensor_json(const monitor::EventValue& event) {
  constexpr size_t kPrintedMax = 1024;
  Json tensor{{"shape", event.shape}};
  if (event.values.size() > kPrintedMax) return tensor;
  Json values = Json::array();
  for (const float number : event.values) values.push_back(json::number_json(double(number)));
  for (size_t axis = event.shape.size(); axis-- > 1;) {
    const auto length = size_t(event.shape[axis]);
    Json rows = Json::array();
    for (size_t at = 0; length > 0 && at < values.size(); at += length) {
      rows.push_back(Json(Json::array_t(values.begin() + int64_t(at), values.begin() + int64_t(at + length))));
    }
    values = std::move(rows);
  }
  tensor["values"] = std::move(values);
  return tensor;
}

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
    case Kind::kImage: return Json{{"width", event.width}, {"height", event.height}, {"bytes", event.text.size()}};
    case Kind::kTensor: return tensor_json(event);
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
              Json line{{"step", event.global_step}, {"tag", event.tag}};
              if (!event.plugin.empty()) line["plugin"] = event.plugin;
              line["value"] = value_of(event);
              line["wall_time"] = json::number_json(event.wall_time);
              replaced += !print_line(context.out, line);
              return context.out.ok();  // Stops when nobody reads the output any more.
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

void add_events_command(arguments::Command& app, Action& selected) {
  arguments::Command& events =
      app.add_command("events", "What a folder's event files hold, one line per value, in file order");
  const auto arguments = std::make_shared<EventsArguments>();
  events.add("DIR", arguments->folder, "The model_dir, or an eval folder below it").path("FOLDER").required();
  events.add("--tag", arguments->tag, "Only values of this tag");
  events.on_selected([&selected, arguments] {
    selected = [arguments](Context& context) { return print_events(context, arguments->folder, arguments->tag); };
  });
}

}  // namespace shoal::cli
