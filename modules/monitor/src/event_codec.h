// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts event messages to bytes and back.
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
std::string encode_experiment(double wall_time, const HyperParameterExperiment& experiment);
std::string encode_session_start(double wall_time, const SessionStart& start);
std::string encode_session_end(double wall_time, SessionStatus status);
std::string encode_graph(double wall_time, std::span<const GraphNode> nodes);
/// Returns the metadata that the plug-in pr_curves requires beside the tensor.
std::string pr_curve_content(size_t thresholds);

/// InvalidArgument for a domain that breaks a rule of HyperParameterDomain, such as both interval and choices.
Result<void> check_experiment(const HyperParameterExperiment& experiment);
/// True if a tensor of `shape` has `count` elements. False for more than eight axes: no summary has so many, but a damaged
/// or hostile record could claim millions.
bool has_elements(std::span<const int64_t> shape, size_t count);

/// Returns the values of an event; none if the event is of another kind. DataLoss if `payload` is no protobuf message.
Result<std::vector<EventValue>> decode_event(std::string_view payload);
/// Returns the start of training that the event records; nothing for other events. Errors as decode_event().
Result<std::optional<EventStart>> decode_start(std::string_view payload);

}  // namespace shoal::monitor
