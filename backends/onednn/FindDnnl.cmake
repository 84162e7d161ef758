# SPDX-License-Identifier: Apache-2.0
# Finds oneDNN by its files. The package's own config is not used, since Debian 12's requires OpenCL to be installed. Sets
# Dnnl_FOUND, Dnnl_VERSION, Dnnl_INCLUDE_DIR and Dnnl_LIBRARY, and makes the target Dnnl::dnnl, for the installed Shoal.
find_path(Dnnl_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(Dnnl_LIBRARY dnnl)
if(Dnnl_INCLUDE_DIR)
  file(STRINGS ${Dnnl_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3" Dnnl_VERSION "${lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dnnl REQUIRED_VARS Dnnl_LIBRARY Dnnl_INCLUDE_DIR VERSION_VAR Dnnl_VERSION)
mark_as_advanced(Dnnl_INCLUDE_DIR Dnnl_LIBRARY)
if(Dnnl_FOUND AND NOT TARGET Dnnl::dnnl)
  add_library(Dnnl::dnnl UNKNOWN IMPORTED)
  set_target_properties(Dnnl::dnnl PROPERTIES IMPORTED_LOCATION "${Dnnl_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Dnnl_INCLUDE_DIR}")
endif()
