// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model in C++ as a program: compiled by the compiler of this machine, for proofs.
#include <memory>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/storage.h"
#include "shoal/convert/cpp.h"

namespace shoal {

/// The files lie in a temporary folder, which goes with this object.
class CompiledModel {
 public:
  /// Why nothing can be compiled here; "" if it can.
  static std::string obstacle();
  /// FailedPrecondition if there is no compiler, or it refuses the source, with what it says. The compiler is the one that the
  /// environment variable CXX names, with its first arguments, or c++. It has ten minutes.
  static Result<CompiledModel> make(const convert::CppSource& source);

  /// The outputs of function `function` for examples whose inputs are these bytes, one example after the other. The program has ten
  /// minutes. InvalidArgument if the function refuses an example.
  Result<std::string> run(size_t function, const std::string& inputs) const;

 private:
  struct Folder;
  explicit CompiledModel(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}
  std::shared_ptr<const Folder> folder_;
};

}  // namespace shoal
