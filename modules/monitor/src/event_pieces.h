// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Encodes parts of TensorBoard's event messages. The encoders of several kinds of events use these functions.
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>

#include "event_fields.h"

namespace shoal::monitor {

/// An event with one summary, which `write` fills.
template <class Write>
std::string encode_summary(double wall_time, int64_t global_step, Write write) {
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_int64(event_field::kStep, global_step);
  {
    protozero::pbf_writer summary(event, event_field::kSummary);
    write(summary);
  }
  return bytes;
}

/// Adds metadata to a value: the plug-in of TensorBoard that shows the value, and the bytes for this plug-in.
inline void add_plugin(protozero::pbf_writer& value, std::string_view name, std::string_view content) {
  protozero::pbf_writer metadata(value, value_field::kMetadata);
  protozero::pbf_writer plugin(metadata, metadata_field::kPluginData);
  plugin.add_string(metadata_field::kPluginName, name.data(), name.size());
  if (!content.empty()) plugin.add_bytes(metadata_field::kPluginContent, content.data(), content.size());
}

/// Adds a TensorShapeProto as the field `field`.
inline void add_shape(protozero::pbf_writer& message, uint32_t field, std::span<const int64_t> sizes) {
  if (sizes.empty()) return message.add_message(field, "", 0);  // A pbf_writer would leave out a message without fields.
  protozero::pbf_writer shape(message, field);
  for (const int64_t size : sizes) {
    protozero::pbf_writer dim(shape, shape_field::kDim);
    dim.add_int64(shape_field::kSize, size);
  }
}

}  // namespace shoal::monitor
