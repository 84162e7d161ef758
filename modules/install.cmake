# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, for who uses Shoal without its tree. Users link one library: the layers are a rule for
# whoever changes Shoal, and an archive for each of them would be an order to keep. The targets have the names of the tree.
#
#   component   what                                                       find_package(Shoal COMPONENTS ...)
#   estimator   libshoal, public headers, files of CMake and pkg-config    estimator (and base, graph, nn, data, ...)
#   testing     libshoal_testing and its headers                           testing
#   tools       the program `shoal`                                        tools (shoal::tools comes with estimator)
#   runtime     shared libraries, where they are shared                    (all)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(modules/cps.cmake)
set(shoal_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Shoal)

# shoal_users_library(<target> <name> <component> <folders of headers> <modules>...): one library of all objects of the modules,
# static or, with BUILD_SHARED_LIBS, shared.
function(shoal_users_library target name component headers)
  set(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${target} ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name} LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(BUILD_SHARED_LIBS)
    set(script ${PROJECT_SOURCE_DIR}/modules/exported.map)
    target_link_options(${target} PRIVATE LINKER:--version-script=${script} LINKER:--no-undefined)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
  install(TARGETS ${target} EXPORT shoal_${component} LIBRARY COMPONENT runtime NAMELINK_COMPONENT ${component}
    ARCHIVE COMPONENT ${component})
  install(EXPORT shoal_${component} NAMESPACE shoal:: FILE Shoal-${component}.cmake DESTINATION ${shoal_cmake_dir} COMPONENT ${component})
  foreach(folder IN LISTS headers)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/shoal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component}
      FILES_MATCHING PATTERN "*.h")
  endforeach()
endfunction()

function(shoal_install)
  get_property(modules GLOBAL PROPERTY SHOAL_MODULES)
  set(for_tests shoal_testing shoal_transport_sim)
  list(REMOVE_ITEM modules ${for_tests})
  set(layers base graph nn data columns checkpoint monitor cluster estimator)
  set(headers ${layers} cli)
  list(TRANSFORM headers PREPEND modules/)
  shoal_users_library(shoal_library shoal estimator "${headers};backends;transport" ${modules} shoal_plugins)
  shoal_users_library(shoal_testing_library shoal_testing testing modules/testing ${for_tests})
  target_link_libraries(shoal_testing_library PUBLIC shoal_library)

  # Libraries of others that the objects need. The installed files find them by the same names.
  target_link_libraries(shoal_library PRIVATE Threads::Threads ${CMAKE_DL_LIBS} ${SHOAL_ATOMIC_LIBRARY})
  set(find_others "find_dependency(Threads)\n")
  set(libs pthread ${SHOAL_ATOMIC_LIBRARY})
  set(packages "")  # of Debian, that whoever links needs
  if(SHOAL_HAS_TLS)
    target_link_libraries(shoal_library PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    string(APPEND find_others "find_dependency(OpenSSL 3.0)\n")
    list(APPEND libs ssl crypto)
    list(APPEND packages libssl-dev)
  endif()
  if(ZLIB_FOUND)
    target_link_libraries(shoal_library PRIVATE ZLIB::ZLIB)
    string(APPEND find_others "find_dependency(ZLIB)\n")
    list(APPEND libs z)
    list(APPEND packages zlib1g-dev)
  endif()
  if(TARGET shoal_backend_onednn)
    list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/backends/onednn)
    find_package(Dnnl REQUIRED)
    target_link_libraries(shoal_library PRIVATE Dnnl::dnnl)
    string(APPEND find_others "list(APPEND CMAKE_MODULE_PATH \${CMAKE_CURRENT_LIST_DIR})\nfind_dependency(Dnnl ${Dnnl_VERSION})\n")
    list(APPEND libs dnnl)
    list(APPEND packages libdnnl-dev)
    install(FILES ${PROJECT_SOURCE_DIR}/backends/onednn/FindDnnl.cmake DESTINATION ${shoal_cmake_dir} COMPONENT estimator)
  endif()
  if(BUILD_SHARED_LIBS)  # The library knows what it needs.
    set(find_others "")
    set(libs "")
  endif()
  set(shoal_packages_of_others ${packages} PARENT_SCOPE)
  shoal_install_cps("${libs}" ${layers} backends transport)
  list(TRANSFORM libs PREPEND "-l")
  list(JOIN libs " " libs)
  string(REPLACE "-lpthread" "-pthread" libs "${libs}")

  install(TARGETS shoal_program EXPORT shoal_tools COMPONENT tools)
  set_target_properties(shoal_program PROPERTIES EXPORT_NAME program)
  # Debian wants pages that are compressed, and without a date, so that two builds are equal. Other systems read them as well.
  set(page ${PROJECT_BINARY_DIR}/installed/shoal.1)
  configure_file(${PROJECT_SOURCE_DIR}/modules/cli/shoal.1.in ${page} @ONLY)
  find_program(SHOAL_GZIP gzip NO_CMAKE_FIND_ROOT_PATH)
  if(SHOAL_GZIP)
    execute_process(COMMAND ${SHOAL_GZIP} -9nkf ${page} COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND page .gz)
  endif()
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(EXPORT shoal_tools NAMESPACE shoal:: FILE Shoal-tools.cmake DESTINATION ${shoal_cmake_dir} COMPONENT tools)

  install(FILES ${PROJECT_SOURCE_DIR}/modules/cli/src/linked.cc DESTINATION ${CMAKE_INSTALL_DATADIR}/shoal RENAME tools.cc
    COMPONENT estimator)

  set(made ${PROJECT_BINARY_DIR}/installed)
  set(modules_of_users ${layers} backends transport)
  set(shoal_data_dir ${CMAKE_INSTALL_DATADIR}/shoal)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/modules/ShoalConfig.cmake.in ${made}/ShoalConfig.cmake
    INSTALL_DESTINATION ${shoal_cmake_dir} PATH_VARS shoal_data_dir NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${made}/ShoalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/ShoalConfig.cmake ${made}/ShoalConfigVersion.cmake DESTINATION ${shoal_cmake_dir} COMPONENT estimator)

  # The folder may be moved: paths begin where the file lies.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE libdir)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
  configure_file(${PROJECT_SOURCE_DIR}/modules/shoal.pc.in ${made}/shoal.pc @ONLY)
  install(FILES ${made}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT estimator)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT estimator)
endfunction()

if(SHOAL_PLUGIN_DIRS)
  message(STATUS "Nothing of this build can be installed: it has plug-ins of SHOAL_PLUGIN_DIRS, whose libraries an installed Shoal would not find.")
else()
  shoal_install()
  find_program(SHOAL_DPKG dpkg NO_CMAKE_FIND_ROOT_PATH)
  if(PROJECT_IS_TOP_LEVEL AND SHOAL_DPKG)
    include(modules/packages.cmake)
  endif()
endif()
