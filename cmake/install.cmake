# What `cmake --install` puts where. Component "program": the program with its manual pages, completions
# and docs, and the Python client; "development": the library and the C++ client with their CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sweetspot)

# Manual pages and completions, written by the program itself from the definitions of its flags.
set(generated ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${generated}/written.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}
  COMMAND sweetspot generate ${generated}
  COMMAND ${CMAKE_COMMAND} -E touch ${generated}/written.stamp
  DEPENDS sweetspot COMMENT "Writing manual pages and completions" VERBATIM)
add_custom_target(sweetspot_generated ALL DEPENDS ${generated}/written.stamp)
# Everything that is installed, and nothing else: for `make install` and `make package`.
add_custom_target(installable DEPENDS sweetspot sweetspot_library sweetspot_client sweetspot_generated)
foreach(library mpi gloo)  # components of these names: what ranks need (src/collective)
  if(TARGET sweetspot_${library})
    add_dependencies(installable sweetspot_${library})
  endif()
endforeach()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS sweetspot RUNTIME)
install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/bash/sweetspot DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/fish/sweetspot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Debian's zsh looks for packages in a folder of their own.
install(CODE "
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(folder vendor-completions)
  endif()
  file(INSTALL \"${generated}/zsh/_sweetspot\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")")
install(FILES clients/python/sweetspot.py DESTINATION ${CMAKE_INSTALL_DATADIR}/sweetspot/python)
install(FILES README.md CHANGELOG.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)  # where Debian looks
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
# Two exports: a program that only reports its steps needs nothing of what the library needs.
install(TARGETS sweetspot_client EXPORT sweetspotClient INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sweetspot_library EXPORT sweetspotLibrary INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sweetspotClient NAMESPACE sweetspot:: DESTINATION ${package})
install(EXPORT sweetspotLibrary NAMESPACE sweetspot:: DESTINATION ${package})
install(DIRECTORY include/sweetspot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev RENAME copyright)

configure_package_config_file(cmake/sweetspotConfig.cmake.in ${CMAKE_BINARY_DIR}/sweetspotConfig.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may change what the headers promise.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sweetspotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sweetspotConfig.cmake ${CMAKE_BINARY_DIR}/sweetspotConfigVersion.cmake
        DESTINATION ${package})
