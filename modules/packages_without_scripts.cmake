# SPDX-License-Identifier: Apache-2.0
# Run by CPack behind the making of packages. CPack gives a package of shared libraries scripts that call ldconfig, and has no word
# to leave them out. The trigger that modules/packages.cmake puts in does the same once for all packages, as Debian asks for.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(folder ${package}.folder)
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${folder}/DEBIAN/postinst OR EXISTS ${folder}/DEBIAN/postrm)
    file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
    execute_process(COMMAND dpkg-deb --root-owner-group -Zxz --build ${folder} ${package} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(REMOVE_RECURSE ${folder})
endforeach()
