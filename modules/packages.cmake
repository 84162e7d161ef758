# SPDX-License-Identifier: Apache-2.0
# Debian packages of what modules/install.cmake installs, by CPack (./dev package): libshoal-dev (library, headers, testing) and
# shoal-tools; with BUILD_SHARED_LIBS also the shared library, in a package that is named after its version. Each has the licences of
# what others have written in it, since headers of Boost, FlatBuffers and others are compiled in.
set(SHOAL_PACKAGER "Shoal maintainers <maintainers@shoal.invalid>" CACHE STRING "Name and address in the Debian packages")
set(shoal_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# What Debian wants in the documents of each package. The date is that of the last commit, so that two builds are equal.
set(made ${PROJECT_BINARY_DIR}/packaging)
set(date $ENV{SOURCE_DATE_EPOCH})
if(NOT date)
  execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE date
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT date)
  string(TIMESTAMP date %s UTC)
endif()
execute_process(COMMAND date -R -u -d @${date} OUTPUT_VARIABLE date_text OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND date -u -d @${date} +%Y OUTPUT_VARIABLE year OUTPUT_STRIP_TRAILING_WHITESPACE)
file(WRITE ${made}/changelog "shoal (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${SHOAL_PACKAGER}  ${date_text}\n")
execute_process(COMMAND gzip -9nf ${made}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${made}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Shoal
Comment: Headers of other projects are compiled in. Their licences are in
 third-party-licences.gz beside this file.

Files: *
Copyright: ${year} the authors of Shoal
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0
")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shoal)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CONTACT ${SHOAL_PACKAGER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/modules/packages_without_scripts.cmake)
set(CPACK_COMPONENTS_ALL "")

# Only what is built has a bill of materials, so the texts are collected when the package is made.
function(shoal_package_licences package target component)
  set(texts ${made}/${package}/third-party-licences)
  install(CODE "
    if(NOT \"${CMAKE_GENERATOR}\" STREQUAL Ninja)
      message(FATAL_ERROR \"Shoal's packages take a build by Ninja, which knows what is compiled in: cmake -G Ninja\")
    endif()
    file(MAKE_DIRECTORY ${made}/${package})
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/toolchains/sbom --licences ${texts} ${CMAKE_BINARY_DIR} ${target}
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND gzip -9nf ${texts} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${texts}.gz DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# shoal_package(<group> NAME package SECTION section TITLE line OF target COMPONENTS ... [DEPENDS packages])
# OF: the target whose licences come with the package.
macro(shoal_package group)
  cmake_parse_arguments(package "" "NAME;SECTION;TITLE;OF" "COMPONENTS;DEPENDS" ${ARGN})
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package_NAME})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${package_SECTION})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${package_TITLE}\nShoal trains neural networks with one call, on one core or on a cluster, with\nthe same program.")
  string(REPLACE ";" ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${package_DEPENDS}")
  install(FILES ${made}/copyright DESTINATION share/doc/${package_NAME} COMPONENT documents_of_${group} EXCLUDE_FROM_ALL)
  install(FILES ${made}/changelog.gz DESTINATION share/doc/${package_NAME} COMPONENT documents_of_${group} EXCLUDE_FROM_ALL)
  shoal_package_licences(${package_NAME} ${package_OF} documents_of_${group})
  foreach(component IN ITEMS ${package_COMPONENTS} documents_of_${group})
    string(TOUPPER ${component} upper)
    set(CPACK_COMPONENT_${upper}_GROUP ${group})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endforeach()
endmacro()

if(BUILD_SHARED_LIBS)
  shoal_package(runtime NAME libshoal${shoal_version} SECTION libs OF shoal_library TITLE "neural network training, shared library" COMPONENTS runtime)
  file(WRITE ${made}/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${made}/triggers)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
  set(needs_of_library "libshoal${shoal_version} (= ${PROJECT_VERSION})")
else()
  set(needs_of_library ${shoal_packages_of_others})
endif()
shoal_package(library NAME libshoal-dev SECTION libdevel OF shoal_library TITLE "neural network training, for programs that use it"
  COMPONENTS estimator testing DEPENDS ${needs_of_library})
shoal_package(commands NAME shoal-tools SECTION science OF shoal_program TITLE "neural network training, the program shoal"
  COMPONENTS tools)
set(CPACK_DEBIAN_COMMANDS_PACKAGE_SHLIBDEPS ON)
include(CPack)
