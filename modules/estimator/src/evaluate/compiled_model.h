// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compiles an exported model's C++ source to a program, with this machine's compiler. An export runs the program to prove
/// that it computes what Shoal does.
#include <memory>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/storage.h"
#include "shoal/convert/cpp.h"

namespace shoal {

/// A program compiled from the C++ source of an exported model. Its files lie in a temporary folder, which the destructor
/// removes.
class CompiledModel {
 public:
  /// The reason why this machine cannot compile C++ sources; "" if it can.
  static std::string obstacle();
  /// Compiles the source within ten minutes, with the compiler and the first arguments in the environment variable
  /// CXX, or with c++. FailedPrecondition if there is no compiler, or with the compiler's output if it refuses the
  /// source. The program's folder is made in `temporary_folder`.
  static Result<CompiledModel> make(const convert::CppSource& source, const std::string& temporary_folder);

  /// Runs the C++ function with the index `function` for some examples, and returns its outputs. `inputs` and the result
  /// have the bytes of one example after the other. The run may take ten minutes. InvalidArgument if the function refuses
  /// an example.
  Result<std::string> run(size_t function, const std::string& inputs) const;

 private:
  struct Folder;
  explicit CompiledModel(std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {}
  std::shared_ptr<const Folder> folder_;
};

}  // namespace shoal
