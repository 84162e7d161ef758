// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which functions a model gets: one for each of its signatures, with a parameter for each input and output.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/convert/trained_model.h"
#include "shoal/graph/dim.h"
#include "shoal/graph/text_ids.h"

namespace shoal::convert::cpp {

struct Parameter {
  std::string name;   ///< An identifier.
  std::string title;  ///< What users call it.
  Value value;
  /// For an input: how its ids are made of text. Empty: the input is no text.
  std::optional<TextEncoding> encoding = {};
  /// For an output: the names of its ids, if these are known.
  std::vector<std::string> names = {};
};

/// Names of the positions of an output's last axis, as tables that users of the function may want.
struct NameTable {
  std::string name;
  std::vector<std::string> names;
};

struct SignatureFunction {
  std::string name;                 ///< "predict", "predict_classification".
  std::string signature;  ///< The signature's name in the model.
  std::vector<std::string> equals;  ///< Other signatures with the same outputs, which need no function.
  std::vector<Parameter> inputs, outputs;
  std::vector<NameTable> tables;
};

/// The functions, the default one first. InvalidArgument if a signature names a prediction that the model lacks.
Result<std::vector<SignatureFunction>> signature_functions(const TrainedModel& model);

/// The sizes for one example, with `axes` for all other symbols.
SymbolSizes sizes_of(const TrainedModel& model, const std::map<std::string, int64_t>& axes);

}  // namespace shoal::convert::cpp
