// SPDX-License-Identifier: Apache-2.0
// Decodes the event that records a start of training. Such an event has no metrics, only a time and a step.
#include <protozero/pbf_reader.hpp>

#include "event_codec.h"
#include "event_fields.h"

namespace shoal::monitor {
namespace {

bool says_start(protozero::pbf_reader session) {
  bool starts = false;
  while (session.next()) {
    if (session.tag_and_type() == protozero::tag_and_type(session_field::kStatus, protozero::pbf_wire_type::varint)) {
      starts = session.get_enum() == kSessionStart;
    } else {
      session.skip();
    }
  }
  return starts;
}

std::optional<EventStart> find_start(protozero::pbf_reader event) {
  using Wire = protozero::pbf_wire_type;
  EventStart start;
  bool starts = false;
  while (event.next()) {
    switch (event.tag_and_type()) {
      case protozero::tag_and_type(event_field::kWallTime, Wire::fixed64): start.wall_time = event.get_double(); break;
      case protozero::tag_and_type(event_field::kStep, Wire::varint): start.first_step = event.get_int64(); break;
      case protozero::tag_and_type(event_field::kSessionLog, Wire::length_delimited):
        starts = says_start(event.get_message());
        break;
      default: event.skip();
    }
  }
  return starts ? std::optional(start) : std::nullopt;
}

}  // namespace

Result<std::optional<EventStart>> decode_start(std::string_view payload) {
  // The library protozero throws exceptions for malformed input. This function returns DataLoss instead.
  try {
    return find_start(protozero::pbf_reader(payload.data(), payload.size()));
  } catch (const protozero::exception& error) {
    return data_loss(std::string("not an event: ") + error.what());
  }
}

}  // namespace shoal::monitor
