# `make package`: Debian packages by CPack. "sweetspot" is the program; "sweetspot-dev" the library and
# its headers. What the program links is found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sweetspot)
set(CPACK_PACKAGE_VENDOR sweetspot)
set(CPACK_PACKAGE_CONTACT "sweetspot <sweetspot@localhost>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Measures a model or any training program at many batch sizes on this
machine, and recommends one, with its reasons: step overhead, data loading,
compute, memory bandwidth or memory capacity.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "This package has the library, to tune a training loop in C++: headers,
a static library and its CMake package.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME sweetspot)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "ca-certificates")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "npm")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/debian/prerm)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME sweetspot-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, zlib1g-dev, libssl-dev, libcurl4-openssl-dev, libsqlitecpp-dev, libsqlite3-dev, libpq-dev")
include(CPack)
