// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Catches the exceptions of oneDNN and converts them to errors.
#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <string>

#include "shoal/backends/kernel.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/result.h"

namespace shoal::backends::onednn {

/// Returns the result of `make()`. Null if oneDNN has no implementation, or none for these arguments: the caller then
/// asks the next backend. Unavailable if oneDNN finds no memory. Internal for any other failure of oneDNN (such as
/// an engine that does not start).
template <class Make>
Result<std::unique_ptr<Kernel>> guarded(Make&& make) {
  // Free memory is checked first, because oneDNN's code generator allocates memory and writes to it without checking that
  // the pointer is not null.
  constexpr size_t kCodeBytes = size_t(8) << 20;
  if (!has_memory_left(kCodeBytes)) return no_memory(kCodeBytes, "oneDNN's code");
  try {
    return std::unique_ptr<Kernel>(make());
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
    if (error.status == dnnl_out_of_memory) return no_memory(kCodeBytes, "oneDNN's code");
    return internal_error("oneDNN failed: " + std::string(error.message) + " (" + dnnl_status2str(error.status) +
                          "); the backend \"reference\" computes without it, slowly");
  }
}

}  // namespace shoal::backends::onednn
