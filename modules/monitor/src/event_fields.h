// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Field numbers of the protobuf messages in an event file (TensorFlow: core/util/event.proto, core/framework/
/// summary.proto, tensor.proto, tensor_shape.proto, graph.proto, node_def.proto, attr_value.proto; TensorBoard:
/// plugins/hparams/plugin_data.proto and api.proto, plugins/pr_curve/plugin_data.proto; google/protobuf/struct.proto). They
/// are fixed for ever. Only the fields that Shoal writes or reads are listed.
#include <cstdint>

namespace shoal::monitor {

namespace event_field {
inline constexpr uint32_t kWallTime = 1;     // double
inline constexpr uint32_t kStep = 2;         // int64
inline constexpr uint32_t kFileVersion = 3;  // string
inline constexpr uint32_t kGraphDef = 4;     // bytes: a GraphDef
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
inline constexpr uint32_t kPluginData = 1;     // PluginData
inline constexpr uint32_t kPluginName = 1;     // string, a field of the message PluginData
inline constexpr uint32_t kPluginContent = 2;  // bytes, a field of the message PluginData
}  // namespace metadata_field

namespace image_field {
inline constexpr uint32_t kHeight = 1;  // int32; kWidth is one, too
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
inline constexpr uint32_t kSize = 1;  // int64, a field of the message Dim
}  // namespace shape_field

namespace tensor_field {
inline constexpr uint32_t kDType = 1;
inline constexpr uint32_t kShape = 2;      // TensorShapeProto
inline constexpr uint32_t kContent = 4;    // bytes, little-endian
inline constexpr uint32_t kFloatVal = 5;   // packed
inline constexpr uint32_t kDoubleVal = 6;  // packed
inline constexpr uint32_t kStringVal = 8;  // repeated bytes
}  // namespace tensor_field

/// An entry of a protobuf map.
namespace entry_field {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kValue = 2;
}  // namespace entry_field

/// google.protobuf.Value and ListValue.
namespace struct_field {
inline constexpr uint32_t kNumber = 2;  // double
inline constexpr uint32_t kString = 3;
inline constexpr uint32_t kBool = 4;
inline constexpr uint32_t kListValues = 1;  // repeated Value, a field of the message ListValue
}  // namespace struct_field

/// The content of the plug-in hparams: HParamsPluginData.
namespace hparams_field {
inline constexpr uint32_t kExperiment = 2;
inline constexpr uint32_t kSessionStart = 3;
inline constexpr uint32_t kSessionEnd = 4;
}  // namespace hparams_field

namespace session_start_field {
inline constexpr uint32_t kHparams = 1;        // map<string, Value>
inline constexpr uint32_t kModelUri = 2;       // string
inline constexpr uint32_t kGroupName = 4;      // string
inline constexpr uint32_t kStartTimeSecs = 5;  // double
}  // namespace session_start_field

namespace session_end_field {
inline constexpr uint32_t kStatus = 1;       // Status: 1 success, 2 failure
inline constexpr uint32_t kEndTimeSecs = 2;  // double
}  // namespace session_end_field

namespace experiment_field {
inline constexpr uint32_t kDescription = 1;
inline constexpr uint32_t kTimeCreatedSecs = 3;  // double
inline constexpr uint32_t kHparamInfos = 4;      // repeated HParamInfo
inline constexpr uint32_t kMetricInfos = 5;      // repeated MetricInfo
inline constexpr uint32_t kName = 6;
}  // namespace experiment_field

namespace hparam_info_field {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDescription = 3;
inline constexpr uint32_t kType = 4;            // DataType: 1 string, 2 bool, 3 float64
inline constexpr uint32_t kDomainDiscrete = 5;  // ListValue
inline constexpr uint32_t kDomainInterval = 6;  // Interval
inline constexpr uint32_t kIntervalMin = 1;     // double, a field of the message Interval
inline constexpr uint32_t kIntervalMax = 2;     // double, a field of the message Interval
}  // namespace hparam_info_field

namespace metric_info_field {
inline constexpr uint32_t kName = 1;  // MetricName
inline constexpr uint32_t kDisplayName = 3;
inline constexpr uint32_t kNameGroup = 1;  // string, a field of the message MetricName; so is kNameTag
inline constexpr uint32_t kNameTag = 2;
}  // namespace metric_info_field

/// The content of the plug-in pr_curves: PrCurvePluginData.
namespace pr_curve_field {
inline constexpr uint32_t kNumThresholds = 2;  // uint32
}

namespace graph_field {
inline constexpr uint32_t kNode = 1;              // repeated NodeDef
inline constexpr uint32_t kVersions = 4;          // VersionDef
inline constexpr uint32_t kVersionsProducer = 1;  // int32, a field of the message VersionDef
}  // namespace graph_field

namespace node_field {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kOp = 2;
inline constexpr uint32_t kInput = 3;      // repeated string
inline constexpr uint32_t kAttribute = 5;  // map<string, AttrValue>
}  // namespace node_field

namespace attribute_field {
inline constexpr uint32_t kList = 1;        // ListValue of AttrValue
inline constexpr uint32_t kType = 6;        // DataType of TensorFlow
inline constexpr uint32_t kListShapes = 7;  // repeated TensorShapeProto, a field of the message ListValue
}  // namespace attribute_field

inline constexpr int32_t kDTypeFloat = 1;
inline constexpr int32_t kDTypeDouble = 2;
inline constexpr int32_t kDTypeString = 7;

}  // namespace shoal::monitor
