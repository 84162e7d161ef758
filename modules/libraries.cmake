# SPDX-License-Identifier: Apache-2.0
# Libraries of others, found in one place. Those of which Shoal uses headers alone are found by the headers: the files that
# packages have for CMake differ by release, and those of a build machine name its own folders to a build for another machine.

# shoal_header_library(<name> <header> <package of Debian> [OPTIONAL]) -> target shoal_<name>, whose folder is the cache entry
# SHOAL_<NAME>_INCLUDE_DIR. Without the header there is no target, if that is OPTIONAL, or else no build.
function(shoal_header_library name header package)
  string(TOUPPER SHOAL_${name}_INCLUDE_DIR folder)
  find_path(${folder} ${header})
  if(${folder})
    add_library(shoal_${name} INTERFACE)
    target_include_directories(shoal_${name} SYSTEM INTERFACE ${${folder}})
  elseif(NOT "OPTIONAL" IN_LIST ARGN)
    message(FATAL_ERROR "There is no header ${header}: install it (Debian has it in ${package}), or set ${folder} to the folder "
      "that it lies in.")
  endif()
endfunction()

# shoal_file_library(<name> <header> <library> <package of Debian> <what a build without it does not read>) -> target shoal_<name>, if it
# is found and -DSHOAL_<NAME>=OFF does not leave it out. SHOAL_FILE_LIBRARIES lists those that there are, as "name library package".
set(SHOAL_FILE_LIBRARIES "")
function(shoal_file_library name header library package files)
  string(TOUPPER ${name} upper)
  option(SHOAL_${upper} "Read ${files} (needs ${package})" ON)
  if(NOT SHOAL_${upper})
    return()
  endif()
  find_path(SHOAL_${upper}_INCLUDE_DIR ${header})
  find_library(SHOAL_${upper}_LIBRARY ${library})
  if(NOT SHOAL_${upper}_INCLUDE_DIR OR NOT SHOAL_${upper}_LIBRARY)
    message(STATUS "${name} was not found: ${files} are refused. Debian has it in ${package}.")
    return()
  endif()
  add_library(shoal_${name} INTERFACE)
  target_include_directories(shoal_${name} SYSTEM INTERFACE ${SHOAL_${upper}_INCLUDE_DIR})
  target_link_libraries(shoal_${name} INTERFACE ${SHOAL_${upper}_LIBRARY})
  set(SHOAL_FILE_LIBRARIES ${SHOAL_FILE_LIBRARIES} "${name} ${library} ${package}" PARENT_SCOPE)
endfunction()

shoal_header_library(nlohmann_json nlohmann/json.hpp nlohmann-json3-dev)
if(SHOAL_BENCH OR SHOAL_TESTS)
  shoal_header_library(cli11 CLI/CLI.hpp libcli11-dev)  # for benchmarks, and the program of the simulation
endif()
shoal_header_library(xxhash xxhash.h libxxhash-dev)
shoal_header_library(protozero protozero/pbf_writer.hpp libprotozero-dev)
shoal_header_library(flatbuffers flatbuffers/flatbuffers.h libflatbuffers-dev)
# Without Asio the event loop knows no sockets, and there are no transports over them.
shoal_header_library(asio boost/asio/io_context.hpp libboost-dev OPTIONAL)
if(SHOAL_ASIO_INCLUDE_DIR)
  file(STRINGS ${SHOAL_ASIO_INCLUDE_DIR}/boost/version.hpp boost_version REGEX "#define BOOST_VERSION [0-9]+")
  string(REGEX REPLACE "[^0-9]" "" boost_version "${boost_version}")
  if(boost_version LESS 107400)
    message(FATAL_ERROR "Boost in ${SHOAL_ASIO_INCLUDE_DIR} is older than 1.74, which Shoal needs: install a newer one, or set "
      "SHOAL_ASIO_INCLUDE_DIR to the folder of one.")
  endif()
elseif(SHOAL_TCP OR SHOAL_SHM)
  message(FATAL_ERROR "There is no header boost/asio/io_context.hpp, which the transports tcp and shm need: install it (Debian has it "
    "in libboost-dev), set SHOAL_ASIO_INCLUDE_DIR, or leave them out by -DSHOAL_TCP=OFF -DSHOAL_SHM=OFF.")
endif()

# Some compilers call a library for an atomic byte or an atomic word of 64 bits (g++ before 14 on RISC-V, 32-bit processors).
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <atomic>
  #include <cstdint>
  std::atomic<bool> byte;
  std::atomic<std::uint64_t> word;
  int main() { return byte.exchange(true) || word.exchange(1) != 0; }" SHOAL_ATOMICS_LINK)
set(SHOAL_ATOMIC_LIBRARY "")
if(NOT SHOAL_ATOMICS_LINK)
  set(SHOAL_ATOMIC_LIBRARY atomic)
endif()

find_package(ZLIB QUIET)  # without it gzip'd files are refused with a sentence
if(NOT ZLIB_FOUND)
  message(STATUS "zlib was not found: files that are compressed by gzip are refused. Debian has it in zlib1g-dev.")
endif()
shoal_file_library(zstd zstd.h zstd libzstd-dev "files that are compressed by zstd")
shoal_file_library(lz4 lz4frame.h lz4 liblz4-dev "files that are compressed by lz4")
shoal_file_library(jpeg jpeglib.h jpeg libjpeg62-turbo-dev "JPEG pictures")
if(ZLIB_FOUND)
  shoal_file_library(png png.h png libpng-dev "PNG pictures")
  if(TARGET shoal_png)  # of a static libpng the linker does not know what it needs
    target_link_libraries(shoal_png INTERFACE ZLIB::ZLIB m)
  endif()
endif()

set(SHOAL_HAS_TLS 0)
if(SHOAL_TLS)
  find_package(OpenSSL 3.0 QUIET)
  if(OPENSSL_FOUND)
    set(SHOAL_HAS_TLS 1)
  else()
    message(STATUS "OpenSSL 3 was not found: tcp cannot encrypt. Debian has it in libssl-dev; -DSHOAL_TLS=OFF says it is not wanted.")
  endif()
endif()
if(SHOAL_HAS_TLS AND OPENSSL_USE_STATIC_LIBS AND ZLIB_FOUND)
  # Debian's libcrypto compresses by zlib; of a static library the linker does not know.
  set_property(TARGET OpenSSL::Crypto APPEND PROPERTY INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
endif()
