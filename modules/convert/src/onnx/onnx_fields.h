// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The numbers of the fields of an ONNX file. Source: onnx.proto of ONNX 1.12 (IR version 8), which promises that these
/// numbers stay.
#include <cstdint>

namespace shoal::convert::onnx_field {

inline constexpr uint32_t kModelIrVersion = 1, kModelProducerName = 2, kModelProducerVersion = 3, kModelVersion = 5,
                          kModelDoc = 6, kModelGraph = 7, kModelOpset = 8, kModelMetadata = 14;
inline constexpr uint32_t kOpsetDomain = 1, kOpsetVersion = 2;
inline constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
inline constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
inline constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4, kNodeAttribute = 5, kNodeDomain = 7;
inline constexpr uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeText = 4,
                          kAttributeInts = 8, kAttributeTexts = 9, kAttributeType = 20;
inline constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorTexts = 6, kTensorName = 8, kTensorBytes = 9;
inline constexpr uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1, kTensorTypeElement = 1, kTensorTypeShape = 2,
                          kShapeDim = 1, kDimNumber = 1, kDimSymbol = 2;

/// The numbers of AttributeProto.AttributeType that are used here.
enum AttributeType : int32_t { kFloat = 1, kInt = 2, kText = 3, kInts = 7, kTexts = 8 };
/// The numbers of TensorProto.DataType that are used here.
enum ElementType : int32_t {
  kElementFloat32 = 1,
  kElementUInt8 = 2,
  kElementInt32 = 6,
  kElementInt64 = 7,
  kElementText = 8,
  kElementBool = 9
};

}  // namespace shoal::convert::onnx_field
