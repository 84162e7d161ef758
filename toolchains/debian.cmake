# SPDX-License-Identifier: Apache-2.0
# What the toolchain files of all targets share. Each sets, before it includes this file:
#   shoal_target     the architecture as Debian names it, and the folder of build-sysroot/ (toolchains/sysroot fills it)
#   shoal_triplet    the prefix of the compiler's programs, and the folder of libraries
#   shoal_qemu       the architecture as qemu-user names it, which runs programs where the machine is of another kind
# A program is static, so that it runs on whatever a board has; the compiler and its C++ library are those of this machine,
# all else is the sysroot's.
#
# -DSHOAL_CROSS_CLANG=ON compiles with clang, with the same libraries; SHOAL_SYSROOTS names another folder of sysroots.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_LIBRARY_ARCHITECTURE ${shoal_triplet})
if(NOT SHOAL_SYSROOTS)
  cmake_path(SET SHOAL_SYSROOTS NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build-sysroot)
endif()
set(shoal_sysroot ${SHOAL_SYSROOTS}/${shoal_target})
if(NOT EXISTS ${shoal_sysroot}/filled)
  message(FATAL_ERROR "There is no sysroot for ${shoal_target}: toolchains/sysroot ${shoal_target} makes it, and ./dev cross does both.")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SHOAL_CROSS_CLANG SHOAL_SYSROOTS)
set(shoal_gcc ${shoal_triplet}-g++)

# Left to themselves, Debian's compilers look for headers and libraries in folders of this machine too, and those of its C
# library come first. So all folders are named: the compiler's own, and those of the sysroot.
execute_process(COMMAND ${shoal_gcc} -E -x c++ -v /dev/null OUTPUT_QUIET ERROR_VARIABLE shoal_said COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE ".*#include <" "" shoal_said "${shoal_said}")
string(REGEX MATCHALL "\n /[^ \n]*" shoal_folders "${shoal_said}")
set(shoal_headers "")
foreach(folder IN LISTS shoal_folders)
  string(STRIP "${folder}" folder)
  cmake_path(NORMAL_PATH folder)
  # clang has headers of its own in place of those of the second kind.
  if(folder MATCHES "/c\\+\\+/" OR (folder MATCHES "/lib/gcc" AND NOT SHOAL_CROSS_CLANG))
    string(APPEND shoal_headers " -isystem ${folder}")
  endif()
endforeach()
string(APPEND shoal_headers " -isystem ${shoal_sysroot}/usr/include/${shoal_triplet} -isystem ${shoal_sysroot}/usr/include")
set(shoal_libraries "-B${shoal_sysroot}/usr/lib/${shoal_triplet} -L${shoal_sysroot}/usr/lib/${shoal_triplet}")
if(SHOAL_CROSS_CLANG)
  set(CMAKE_CXX_COMPILER clang++)
  set(CMAKE_CXX_COMPILER_TARGET ${shoal_triplet})
  execute_process(COMMAND ${shoal_gcc} -print-libgcc-file-name OUTPUT_VARIABLE shoal_libgcc COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(GET shoal_libgcc PARENT_PATH shoal_gcc_folder)
  set(CMAKE_CXX_FLAGS_INIT "-nostdlibinc -nostdinc++${shoal_headers}")
  execute_process(COMMAND ${shoal_gcc} -print-prog-name=ld OUTPUT_VARIABLE shoal_ld OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(PREPEND shoal_libraries "-B${shoal_gcc_folder} -L${shoal_gcc_folder} --ld-path=${shoal_ld} ")
else()
  set(CMAKE_CXX_COMPILER ${shoal_gcc})
  set(CMAKE_CXX_FLAGS_INIT "-nostdinc -nostdinc++${shoal_headers}")
endif()
set(CMAKE_SYSROOT ${shoal_sysroot})
set(CMAKE_FIND_ROOT_PATH ${shoal_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The linker of binutils 2.40 ends with a fault on the static C library of riscv64: there that one library is the board's.
execute_process(COMMAND ${shoal_triplet}-ld --version OUTPUT_VARIABLE shoal_said COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "[0-9]+\\.[0-9]+" shoal_ld_version "${shoal_said}")
if(shoal_target STREQUAL "riscv64" AND shoal_ld_version VERSION_LESS 2.41)
  set(shoal_static "-static-libstdc++ -static-libgcc")
  # The compiler of that age calls a library of its own for an atomic byte, which no board need have.
  set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-Wl,--push-state,-Bstatic -latomic -Wl,--pop-state")
else()
  set(shoal_static "-static")
endif()
set(CMAKE_EXE_LINKER_FLAGS_INIT "${shoal_libraries} ${shoal_static}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${shoal_libraries}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${shoal_libraries}")
set(OPENSSL_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)

if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL CMAKE_SYSTEM_PROCESSOR)
  find_program(SHOAL_QEMU NAMES qemu-${shoal_qemu}-static qemu-${shoal_qemu} DOC "runs programs of the target on this machine")
  if(SHOAL_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${SHOAL_QEMU};-L;${shoal_sysroot}")
  endif()
endif()
