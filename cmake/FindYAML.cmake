# libyaml by header and library: Debian ships no package configuration for CMake.
find_path(YAML_INCLUDE_DIR yaml.h)
find_library(YAML_LIBRARY yaml)
if(YAML_LIBRARY)  # its headers do not tell the version
  get_filename_component(folder ${YAML_LIBRARY} DIRECTORY)
  if(EXISTS ${folder}/pkgconfig/yaml-0.1.pc)
    file(STRINGS ${folder}/pkgconfig/yaml-0.1.pc YAML_VERSION REGEX "^Version: ")
    string(REPLACE "Version: " "" YAML_VERSION "${YAML_VERSION}")
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(YAML REQUIRED_VARS YAML_LIBRARY YAML_INCLUDE_DIR VERSION_VAR YAML_VERSION)
if(YAML_FOUND AND NOT TARGET YAML::YAML)
  add_library(YAML::YAML UNKNOWN IMPORTED)
  set_target_properties(YAML::YAML PROPERTIES IMPORTED_LOCATION "${YAML_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${YAML_INCLUDE_DIR}")
endif()
