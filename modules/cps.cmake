# SPDX-License-Identifier: Apache-2.0
# shoal.cps, by which find_package(shoal) of CMake 4.3 and other tools find an installed Shoal: the Common Package Specification,
# https://cps-org.github.io/cps/. It is written here and not by install(PACKAGE_INFO), since that takes CMake 4.3 to build Shoal,
# and names libraries of others as packages, which only a module of CMake's finds (docs/decisions/installed-library.md).

# shoal_cps_components(<variable> <target> <name> <library that it needs, or ""> <names of the library>...): JSON of a library, and
# of other names of it.
function(shoal_cps_components variable target name needs)
  set(type archive)
  set(of_others "${shoal_libraries_of_others}")
  if(BUILD_SHARED_LIBS)
    set(type dylib)
    set(of_others "")  # The library knows what it needs.
  endif()
  set(requires "")
  if(needs)
    set(requires ", \"requires\": [\":${needs}\"]")
    set(of_others "")
  endif()
  list(TRANSFORM of_others REPLACE "(.+)" "\"\\1\"")
  list(JOIN of_others ", " of_others)
  set(text "    \"${name}\": {
      \"type\": \"${type}\",
      \"location\": \"@prefix@/${shoal_cps_libdir}/$<TARGET_FILE_NAME:${target}>\",
      \"includes\": [\"@prefix@/${CMAKE_INSTALL_INCLUDEDIR}\"],
      \"compile_features\": [\"c++20\"],
      \"link_languages\": [\"cpp\"],
      \"link_libraries\": [${of_others}]${requires}
    }")
  foreach(other IN LISTS ARGN)
    string(APPEND text ",\n    \"${other}\": {\"type\": \"interface\", \"requires\": [\":${name}\"]}")
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# shoal_cps_file(<name of the file> <component of the installation> <lines of its own> <JSON of components>)
function(shoal_cps_file file component lines components)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/installed/${file} CONTENT "{
  \"cps_version\": \"0.13.0\",
  \"name\": \"shoal\",
${lines}  \"components\": {
${components}
  }
}
")
  install(FILES ${PROJECT_BINARY_DIR}/installed/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/cps/shoal COMPONENT ${component})
endfunction()

# shoal_install_cps(<libraries of others> <names of the library>...)
function(shoal_install_cps shoal_libraries_of_others)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE shoal_cps_libdir)
  set(compatible ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0)
  shoal_cps_components(components shoal_library shoal "" ${ARGN})
  shoal_cps_file(shoal.cps estimator "  \"version\": \"${PROJECT_VERSION}\",
  \"compat_version\": \"${compatible}\",
  \"description\": \"${PROJECT_DESCRIPTION}\",
  \"license\": \"Apache-2.0\",
  \"cps_path\": \"@prefix@/${shoal_cps_libdir}/cps/shoal\",
  \"default_components\": [\"estimator\"],
" "${components}")
  # What is only installed with the component `testing` is a file of its own, which belongs to the first.
  shoal_cps_components(components shoal_testing_library shoal_testing shoal testing)
  shoal_cps_file(shoal-testing.cps testing "" "${components}")
endfunction()
