// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Event messages to and from bytes.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/monitor/event.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::monitor {

std::string encode_version_event(double wall_time);
std::string encode_start(double wall_time, int64_t first_step);
std::string encode_scalars(double wall_time, int64_t global_step, std::span<const Scalar> scalars);
std::string encode_histogram(double wall_time, int64_t global_step, std::string_view tag, const Histogram& histogram);
std::string encode_text(double wall_time, int64_t global_step, std::string_view tag, std::string_view text);
std::string encode_image(double wall_time, int64_t global_step, std::string_view tag, const EncodedImage& image);
std::string encode_tensor(double wall_time, int64_t global_step, std::string_view tag, const TensorSummary& tensor);
std::string encode_experiment(double wall_time, const Experiment& experiment);
std::string encode_session_start(double wall_time, const SessionStart& start);
std::string encode_session_end(double wall_time, SessionStatus status);
std::string encode_graph(double wall_time, std::span<const GraphNode> nodes);
/// What the plug-in pr_curves wants to know beside the tensor.
std::string pr_curve_content(size_t thresholds);

/// InvalidArgument for domains that HyperParameterDomain excludes.
Result<void> check_experiment(const Experiment& experiment);
/// Whether a tensor of `shape` has `count` elements. Shapes of more than eight axes have none: no summary has more, and
/// those of damaged and hostile records stay small.
bool has_elements(std::span<const int64_t> shape, size_t count);

/// The values of one event; none for other kinds of event. DataLoss if `payload` is no protobuf message.
Result<std::vector<EventValue>> decode_event(std::string_view payload);
/// The start of training that an event tells of; nothing for other events. Errors as decode_event().
Result<std::optional<EventStart>> decode_start(std::string_view payload);

}  // namespace shoal::monitor
