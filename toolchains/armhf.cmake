# SPDX-License-Identifier: Apache-2.0
# 32-bit ARM (ARMv7 with a floating-point unit): Raspberry Pi 2 and newer with a 32-bit system.
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(shoal_target armhf)
set(shoal_triplet arm-linux-gnueabihf)
set(shoal_qemu arm)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
