# SPDX-License-Identifier: Apache-2.0
# 64-bit ARM, on a Debian host: the compiler and its C library are packages of the host, libraries of the target come from
# the folder that toolchains/sysroot fills, headers that are the same everywhere (Boost, FlatBuffers, ...) from the host.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(DEFINED ENV{SHOAL_SYSROOT})
  set(shoal_sysroot $ENV{SHOAL_SYSROOT})
else()
  set(shoal_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build-sysroot/arm64)
endif()
list(PREPEND CMAKE_PREFIX_PATH ${shoal_sysroot}/usr)
set(ZLIB_USE_STATIC_LIBS ON)  # the link to the shared one is absolute, and would lead to the host
set(CMAKE_CXX_FLAGS_INIT "-isystem ${shoal_sysroot}/usr/include/aarch64-linux-gnu")

# The host's libraries would be found first, and are of the wrong kind.
set(CMAKE_IGNORE_PREFIX_PATH /usr/lib/x86_64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64-static;-L;/usr/aarch64-linux-gnu")
