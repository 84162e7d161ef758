#pragma once
/// The border to oneDNN: its exceptions end here.
#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <string>

#include "shoal/backends/kernel.h"
#include "shoal/base/result.h"

namespace shoal::backends::onednn {

/// What `make()` gives. Null where oneDNN throws that it has no implementation of this, or none with these arguments: the
/// next backend is asked. Any other failure of oneDNN (no memory, an engine that does not start) is Internal.
template <class Make>
Result<std::unique_ptr<Kernel>> guarded(Make&& make) {
  try {
    return std::unique_ptr<Kernel>(make());
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
    return internal_error("oneDNN failed: " + std::string(error.message) + " (" + dnnl_status2str(error.status) +
                          "); the backend \"reference\" computes without it, slowly");
  }
}

}  // namespace shoal::backends::onednn
