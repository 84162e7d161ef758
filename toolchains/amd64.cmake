# SPDX-License-Identifier: Apache-2.0
# x86-64, as one static program.
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(shoal_target amd64)
set(shoal_triplet x86_64-linux-gnu)
set(shoal_qemu x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
