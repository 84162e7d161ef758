// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chooses the functions of a model: one for each signature, with a parameter for each input and output.
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
  /// For an input: how its texts become ids. Empty: the input is no text.
  std::optional<TextEncoding> encoding = {};
  /// For an output: the names of its ids, if the model knows them.
  std::vector<std::string> names = {};
};

/// The names, such as names of classes, of the elements along an output's last axis. Users of the function can print them.
struct NameTable {
  std::string name;
  std::vector<std::string> names;
};

struct SignatureFunction {
  std::string name;                 ///< "predict", "predict_classification".
  std::string signature;            ///< The signature's name in the model.
  std::vector<std::string> equals;  ///< Other signatures with the same outputs, which need no function of their own.
  std::vector<Parameter> inputs, outputs;
  std::vector<NameTable> tables;
};

/// The functions, the default one first. InvalidArgument if a signature names a prediction that the model lacks.
Result<std::vector<SignatureFunction>> signature_functions(const TrainedModel& model);

/// The sizes of all symbols for a batch of one example: 1 for the batch, and `axes` for all other symbols.
SymbolSizes sizes_of(const TrainedModel& model, const std::map<std::string, int64_t>& axes);

}  // namespace shoal::convert::cpp
