# SPDX-License-Identifier: Apache-2.0
# 64-bit ARM: Raspberry Pi 3 and newer with a 64-bit system, servers.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(shoal_target arm64)
set(shoal_triplet aarch64-linux-gnu)
set(shoal_qemu aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
