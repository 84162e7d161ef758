# SPDX-License-Identifier: Apache-2.0
# 64-bit RISC-V (RV64GC).
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(shoal_target riscv64)
set(shoal_triplet riscv64-linux-gnu)
set(shoal_qemu riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
