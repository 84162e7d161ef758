# SPDX-License-Identifier: Apache-2.0
# One function per kind of target, so that a folder's CMakeLists.txt is a list of files and what it depends on.

# Flags of all our own targets: bits must not depend on the compiler's guesses (no contraction of a*b+c), and vector square
# roots need errno out of the way. The first lines undo what a parent project may have asked for its own code, and what ours
# would be wrong with: arithmetic without infinities and NaN, plain char without a sign, no exceptions, no type information.
add_library(shoal_flags INTERFACE)
target_compile_features(shoal_flags INTERFACE cxx_std_20)
target_compile_options(shoal_flags INTERFACE
  -fno-fast-math -fno-unsafe-math-optimizations -fno-finite-math-only -fno-associative-math -fno-reciprocal-math -fsigned-zeros
  -fsigned-char $<IF:$<BOOL:${SHOAL_EXCEPTIONS}>,-fexceptions,-fno-exceptions$<SEMICOLON>-fno-unwind-tables$<SEMICOLON>-fno-asynchronous-unwind-tables> -frtti
  -ffp-contract=off -fno-math-errno -fno-trapping-math
  # What a failed check says of its place begins at the tree, so that builds in two folders are equal bit for bit.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${PROJECT_BINARY_DIR}/=
  # g++ 14 leaves out stores to what a lambda captures by reference and passes on (seen with std::all_of, 14.2 at -O3): its
  # interprocedural "modref" analysis takes them for dead.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-fno-ipa-modref>
  $<$<BOOL:${SHOAL_WARNINGS}>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>
  # g++ 12 warns of overlapping copies inside std::string's own operator+ (GCC bug 105651).
  $<$<AND:$<BOOL:${SHOAL_WARNINGS}>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # In a unity build g++ takes what sources keep to themselves for what a header exposes.
  $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # The files of a unity build need half a gigabyte of the compiler's memory. With its own limit of 128 MiB, g++ looks for memory
  # to free so often that a tenth of its time goes there; with this one it takes 15 % more memory.
  $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=524288>
  $<$<BOOL:${SHOAL_WERROR}>:-Werror>
  # A program takes of the library what it calls, and not all that stands in the same file.
  -ffunction-sections -fdata-sections)
target_link_options(shoal_flags INTERFACE LINKER:--gc-sections)
if(NOT SHOAL_AVX512)
  target_compile_definitions(shoal_flags INTERFACE SHOAL_WITHOUT_AVX512)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(shoal_flags INTERFACE -Wno-psabi)  # notes that g++ before 7 passed arguments otherwise
endif()
if(CMAKE_SIZEOF_VOID_P EQUAL 4)  # files beyond 2 GiB, dates beyond 2038
  target_compile_definitions(shoal_flags INTERFACE _FILE_OFFSET_BITS=64 _TIME_BITS=64)
endif()

# Loops over all numbers of a model: -O3 also where the rest is built to be small, without which they were measured ten times
# slower (the reference backend, -Os). Debug builds have their own rule.
set(shoal_loop_options $<$<NOT:$<CONFIG:Debug>>:-O3>)
# shoal_loops(<source>...): the sources of a module that consist of such loops.
function(shoal_loops)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${shoal_loop_options})
endfunction()

# shoal_catching(<source>...): the sources of a module that catch what libraries of others throw, and what the operating system's
# limits make the standard library throw. They have exceptions in every build. Nothing that such a source calls of Shoal may throw
# through functions of other sources, which have no tables to unwind by where SHOAL_EXCEPTIONS is off.
function(shoal_catching)
  if(NOT SHOAL_EXCEPTIONS)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fexceptions -funwind-tables -fasynchronous-unwind-tables)
  endif()
endfunction()

# shoal_module(<name> SOURCES ... [DEPENDS other modules] [LIBRARIES private third party] [INCLUDE_DIR dir])
# -> library shoal_<name>, alias shoal::<name>; exports only its own include folder.
function(shoal_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(shoal_${name} STATIC ${arg_SOURCES})
  add_library(shoal::${name} ALIAS shoal_${name})
  target_include_directories(shoal_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_features(shoal_${name} PUBLIC cxx_std_20)  # the headers need it in whoever includes them
  set(depends "")
  foreach(other IN LISTS arg_DEPENDS)
    list(APPEND depends shoal::${other})
  endforeach()
  target_link_libraries(shoal_${name} PUBLIC ${depends} PRIVATE $<BUILD_INTERFACE:shoal_flags> ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY SHOAL_MODULES shoal_${name})
  # Public headers compile alone.
  file(GLOB_RECURSE headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  if(SHOAL_TESTS AND SHOAL_HEADERS_ALONE AND headers)
    set(units "")
    foreach(header IN LISTS headers)
      string(MAKE_C_IDENTIFIER ${header} id)
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${id}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n")
      list(APPEND units ${unit})
    endforeach()
    add_library(shoal_${name}_headers OBJECT ${units})
    set_target_properties(shoal_${name}_headers PROPERTIES UNITY_BUILD OFF)
    target_compile_options(shoal_${name}_headers PRIVATE -O0)
    target_link_libraries(shoal_${name}_headers PRIVATE shoal_${name} shoal_flags)
  endif()
endfunction()

# shoal_group_sources(<target>): decides which sources of a test program a unity build compiles together. Two files that define
# the same name cannot be: the folder's CMakeLists.txt gives such a file another group (UNITY_GROUP), or has it compiled alone
# (SKIP_UNITY_BUILD_INCLUSION). This function groups the other files by tens, since larger groups share more names.
function(shoal_group_sources target)
  get_target_property(sources ${target} SOURCES)
  set(count 0)
  foreach(source IN LISTS sources)
    get_source_file_property(group ${source} UNITY_GROUP)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(group OR alone)
      continue()
    endif()
    math(EXPR number "${count} / 10")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
endfunction()

# shoal_test(<folder> SOURCES ... DEPENDS ... [LIBRARIES ...] [LABELS ...] [TIMEOUT seconds] [SHARDS n]): one gtest
# program per folder of tests/. Every *_test.cc on disk must be listed; CMake fails otherwise.
#
# For ctest each case is a test, <folder>.<Suite>.<Case>, in a process of its own. With SHARDS there are n tests instead,
# <folder>.<i>_of_<n>, each of every n-th case in one process (gtest's own sharding): for thousands of cases that take less
# time than starting a process. TIMEOUT (120 if not given; presets of emulators and sanitizers multiply it) is of one test.
# A case by itself: run the program, <folder>_tests, with --gtest_filter.
function(shoal_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;SHARDS" "SOURCES;DEPENDS;LIBRARIES;LABELS" ${ARGN})
  file(GLOB on_disk RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  get_property(listed DIRECTORY PROPERTY SHOAL_TEST_SOURCES)
  list(APPEND listed ${arg_SOURCES})
  set_property(DIRECTORY PROPERTY SHOAL_TEST_SOURCES ${listed})
  add_executable(${name}_tests ${arg_SOURCES})
  set_target_properties(${name}_tests PROPERTIES UNITY_BUILD_MODE GROUP)
  # Called at the end of the folder's CMakeLists.txt, which has given groups by then. EVAL inserts the name now.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL shoal_group_sources ${name}_tests)")
  # What takes time when tests run is the library. -O3 of the tests' own code only takes time to compile: a third more.
  target_compile_options(${name}_tests PRIVATE $<$<CONFIG:Release>:-O1>)
  set(depends "")
  foreach(other IN LISTS arg_DEPENDS)
    list(APPEND depends shoal::${other})
  endforeach()
  target_include_directories(${name}_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name}_tests PRIVATE ${depends} shoal_flags ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(SHOAL_TEST_TIMEOUT_SCALE)  # set by the presets of emulators and sanitizers
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${SHOAL_TEST_TIMEOUT_SCALE}")
  endif()
  if(arg_SHARDS)
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(index RANGE ${last})
      math(EXPR number "${index} + 1")
      set(test "${name}.${number}_of_${arg_SHARDS}")
      add_test(NAME ${test} COMMAND ${name}_tests --gtest_brief=1)  # a target: CMake puts the emulator before it
      set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES TIMEOUT ${arg_TIMEOUT}
      LABELS "${arg_LABELS}")
  endif()
  set(missing ${on_disk})
  list(REMOVE_ITEM missing ${listed})
  set_property(DIRECTORY PROPERTY SHOAL_TEST_MISSING "${missing}")
endfunction()

# shoal_fuzz(<name> LIBRARIES ... [INCLUDES private headers]): the fuzz target <name>_target.cc with its seeds and findings,
# corpus/<name>: the program fuzz_<name>, which libFuzzer drives if SHOAL_FUZZ is set, else the test fuzz.<name>. All of them
# are built by the target fuzz_targets.
function(shoal_fuzz name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;INCLUDES" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY SHOAL_FUZZ_NAMES ${name})
  add_executable(fuzz_${name} ${name}_target.cc)
  target_include_directories(fuzz_${name} PRIVATE ${arg_INCLUDES} ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBRARIES} shoal::base shoal_flags)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets fuzz_${name})
  if(SHOAL_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_main.cc)
  set(timeout 120)
  if(SHOAL_TEST_TIMEOUT_SCALE)
    math(EXPR timeout "${timeout} * ${SHOAL_TEST_TIMEOUT_SCALE}")
  endif()
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name} 3000)
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# shoal_bench(<name> SOURCES ... DEPENDS ... LIBRARIES ...): a program under build/bin/bench/.
function(shoal_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set(depends "")
  foreach(other IN LISTS arg_DEPENDS)
    list(APPEND depends shoal::${other})
  endforeach()
  target_link_libraries(${name} PRIVATE ${depends} shoal_flags ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/bench)
endfunction()
