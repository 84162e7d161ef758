# SPDX-License-Identifier: Apache-2.0
# Generates messages_generated.h at build time. flatc is a host tool, also when cross-compiling. Generated code asserts the
# exact version of the headers, so a mismatch is reported here and not left to the compiler.
find_program(SHOAL_FLATC flatc NO_CMAKE_FIND_ROOT_PATH)
if(NOT SHOAL_FLATC)
  message(FATAL_ERROR "There is no program flatc: install it on the machine that builds (Debian has it in flatbuffers-compiler), or "
    "set SHOAL_FLATC to its path.")
endif()
execute_process(COMMAND ${SHOAL_FLATC} --version OUTPUT_VARIABLE flatc_version)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" flatc_version "${flatc_version}")
file(STRINGS ${SHOAL_FLATBUFFERS_INCLUDE_DIR}/flatbuffers/base.h version_lines
  REGEX "#define FLATBUFFERS_VERSION_(MAJOR|MINOR|REVISION) [0-9]+")
string(REGEX REPLACE "[^0-9;]" "" header_version "${version_lines}")
string(REPLACE ";" "." header_version "${header_version}")
if(NOT flatc_version VERSION_EQUAL header_version)
  message(FATAL_ERROR "flatc is version ${flatc_version} but the headers in ${SHOAL_FLATBUFFERS_INCLUDE_DIR} are "
    "${header_version}: install both from one release, or set SHOAL_FLATC and SHOAL_FLATBUFFERS_INCLUDE_DIR")
endif()

set(messages_folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
add_custom_command(OUTPUT ${messages_folder}/messages_generated.h
  COMMAND ${SHOAL_FLATC} --cpp --gen-mutable --cpp-std c++17 -o ${messages_folder} ${CMAKE_CURRENT_SOURCE_DIR}/messages.fbs
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/messages.fbs VERBATIM)
