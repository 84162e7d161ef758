// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The border to oneDNN: its exceptions end here.
#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <string>

#include "shoal/backends/kernel.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/result.h"

namespace shoal::backends::onednn {

/// What `make()` gives. Null where oneDNN throws that it has no implementation of this, or none with these arguments: the
/// next backend is asked. Where it finds no memory: Unavailable. Any other failure of oneDNN (an engine that does not start) is
/// Internal.
template <class Make>
Result<std::unique_ptr<Kernel>> guarded(Make&& make) {
  // oneDNN's code generator asks for memory, and writes through the pointer without a look at whether it is null.
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
