// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Field numbers of the protobuf messages in an event file (TensorFlow: core/util/event.proto, core/framework/
/// summary.proto, tensor.proto, tensor_shape.proto). They are fixed for ever; only those that we write or read.
#include <cstdint>

namespace shoal::monitor {

namespace event_field {
inline constexpr uint32_t kWallTime = 1;     // double
inline constexpr uint32_t kStep = 2;         // int64
inline constexpr uint32_t kFileVersion = 3;  // string
inline constexpr uint32_t kSummary = 5;      // Summary
inline constexpr uint32_t kSessionLog = 7;   // SessionLog
}  // namespace event_field

namespace session_field {
inline constexpr uint32_t kStatus = 1;  // SessionStatus
}
inline constexpr int32_t kSessionStart = 1;

namespace summary_field {
inline constexpr uint32_t kValue = 1;  // repeated Value
}

namespace value_field {
inline constexpr uint32_t kTag = 1;          // string
inline constexpr uint32_t kSimpleValue = 2;  // float
inline constexpr uint32_t kImage = 4;        // Summary.Image
inline constexpr uint32_t kHisto = 5;        // HistogramProto
inline constexpr uint32_t kTensor = 8;       // TensorProto
inline constexpr uint32_t kMetadata = 9;     // SummaryMetadata
}  // namespace value_field

namespace metadata_field {
inline constexpr uint32_t kPluginData = 1;  // PluginData
inline constexpr uint32_t kPluginName = 1;     // string, inside PluginData
inline constexpr uint32_t kPluginContent = 2;  // bytes, inside PluginData
}  // namespace metadata_field

namespace image_field {
inline constexpr uint32_t kHeight = 1;      // int32, as is the width
inline constexpr uint32_t kWidth = 2;
inline constexpr uint32_t kColorspace = 3;  // int32: the number of colour channels
inline constexpr uint32_t kEncoded = 4;     // bytes
}  // namespace image_field

namespace histogram_field {
inline constexpr uint32_t kMin = 1;  // A double, as are all numbers of a histogram.
inline constexpr uint32_t kMax = 2;
inline constexpr uint32_t kNum = 3;
inline constexpr uint32_t kSum = 4;
inline constexpr uint32_t kSumSquares = 5;
inline constexpr uint32_t kBucketLimit = 6;  // Packed.
inline constexpr uint32_t kBucket = 7;       // Packed.
}  // namespace histogram_field

namespace shape_field {
inline constexpr uint32_t kDim = 2;   // repeated Dim
inline constexpr uint32_t kSize = 1;  // int64, inside Dim
}  // namespace shape_field

namespace tensor_field {
inline constexpr uint32_t kDType = 1;
inline constexpr uint32_t kShape = 2;      // TensorShapeProto
inline constexpr uint32_t kContent = 4;    // bytes, little-endian
inline constexpr uint32_t kFloatVal = 5;   // packed
inline constexpr uint32_t kDoubleVal = 6;  // packed
inline constexpr uint32_t kStringVal = 8;  // repeated bytes
}  // namespace tensor_field

inline constexpr int32_t kDTypeFloat = 1;
inline constexpr int32_t kDTypeDouble = 2;
inline constexpr int32_t kDTypeString = 7;

}  // namespace shoal::monitor
