# What `cmake --install` puts where: the program, the library and the C++ client with their CMake
# package, the Python client, the docs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sweetspot)

install(TARGETS sweetspot RUNTIME)
# Two exports: a program that only reports its steps needs nothing of what the library needs.
install(TARGETS sweetspot_client EXPORT sweetspotClient INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sweetspot_library EXPORT sweetspotLibrary INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sweetspotClient NAMESPACE sweetspot:: DESTINATION ${package})
install(EXPORT sweetspotLibrary NAMESPACE sweetspot:: DESTINATION ${package})
install(DIRECTORY include/sweetspot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_package_config_file(cmake/sweetspotConfig.cmake.in ${CMAKE_BINARY_DIR}/sweetspotConfig.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may change what the headers promise.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sweetspotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sweetspotConfig.cmake ${CMAKE_BINARY_DIR}/sweetspotConfigVersion.cmake
        DESTINATION ${package})

install(FILES clients/python/sweetspot.py DESTINATION ${CMAKE_INSTALL_DATADIR}/sweetspot/python)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
