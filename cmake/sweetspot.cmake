# Every part of the program is one folder under src/, one namespace and one static library.

add_library(sweetspot_flags INTERFACE)
target_compile_options(sweetspot_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -fno-math-errno
                       # GCC 12 warns falsely on std::string::insert, and of anonymous namespaces in a folder that is compiled as one.
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                       # To Clang, a local name shadows one of another file's anonymous namespace there.
                       $<$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-shadow>)
# A compiler that collects no garbage takes a tenth of the time less, and a quarter more memory.
target_compile_options(sweetspot_flags INTERFACE
                       "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=1000;--param=ggc-min-heapsize=2000000>")
if(SWEETSPOT_SANITIZE)
  target_compile_options(sweetspot_flags INTERFACE -fsanitize=${SWEETSPOT_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)  # undefined behaviour fails the test, not only prints
  target_link_options(sweetspot_flags INTERFACE -fsanitize=${SWEETSPOT_SANITIZE})
endif()

# For code that runs once and mostly waits: compiles a third faster than with the engine's
# optimisation level.
set(SWEETSPOT_COLD $<$<CONFIG:Release>:-O1>)

# For tests: what they spend their time in is the program, and compiling them took a third longer.
set(SWEETSPOT_TEST $<$<CONFIG:Release>:-O0>)

# COST of a test that takes many seconds: begun first, it does not run alone at the end.
set(SWEETSPOT_LONG 100)

# What the program is built with, for `sweetspot --version`; called where the library is found.
function(sweetspot_uses name version)
  string(STRIP "${name} ${version}" used)
  get_property(all GLOBAL PROPERTY sweetspot_uses)
  list(APPEND all "${used}")
  list(REMOVE_DUPLICATES all)
  set_property(GLOBAL PROPERTY sweetspot_uses "${all}")
endfunction()

# With CMAKE_UNITY_BUILD (a third of the total build time), a folder is compiled as one file.
function(sweetspot_compile_by_folder)
  foreach(source ${ARGN})
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR}/.. ${folder})
    string(REPLACE "/" "_" folder ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
endfunction()

# sweetspot_library(core DEPS fmt::fmt): the library sweetspot::core of every .cpp in this folder,
# except subfolders that match EXCLUDE; COLD if it has no performance-critical loop. Cold ones share
# precompiled headers, unless they have their own (HEADERS).
function(sweetspot_library name)
  cmake_parse_arguments(ARG "COLD" "EXCLUDE" "DEPS;PRIVATE_DEPS;HEADERS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${ARG_EXCLUDE}/")
  endif()
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")  # programs are made of a library and a main
  sweetspot_compile_by_folder(${sources})
  add_library(sweetspot_${name} STATIC ${sources})
  set_target_properties(sweetspot_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  add_library(sweetspot::${name} ALIAS sweetspot_${name})
  target_include_directories(sweetspot_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(sweetspot_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} sweetspot_flags)
  if(ARG_COLD)
    target_compile_options(sweetspot_${name} PRIVATE ${SWEETSPOT_COLD})
    # fmt for all: with different definitions they could not share.
    target_link_libraries(sweetspot_${name} PRIVATE fmt::fmt)
    get_property(first GLOBAL PROPERTY sweetspot_first_cold)
    if(ARG_HEADERS)
      target_precompile_headers(sweetspot_${name} PRIVATE ${ARG_HEADERS})
    elseif(first)
      target_precompile_headers(sweetspot_${name} REUSE_FROM ${first})
    else()
      target_precompile_headers(sweetspot_${name} PRIVATE <nlohmann/json.hpp> <fmt/format.h> <algorithm> <filesystem> <functional>)
      set_property(GLOBAL PROPERTY sweetspot_first_cold sweetspot_${name})
    endif()
  endif()
endfunction()

# sweetspot_test(core DEPS sweetspot::core LABELS unit): one test program of every .cpp in
# tests/<name>; for a/b it is test_a_b. WHOLE: its tests share an expensive start-up, and run as
# one. COMPUTES: the tests themselves have loops that take long. LONG: some of them take many seconds.
function(sweetspot_test name)
  cmake_parse_arguments(ARG "WHOLE;COMPUTES;LONG" "" "DEPS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  string(REPLACE "/" "_" target test_${name})
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE SWEETSPOT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  # fmt for all: a program with different definitions could not share the precompiled headers.
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} sweetspot_words GTest::gmock GTest::gtest_main fmt::fmt sweetspot_flags)
  set(level ${SWEETSPOT_TEST})
  if(ARG_COMPUTES)
    set(level ${SWEETSPOT_COLD})
  endif()
  target_compile_options(${target} PRIVATE ${level})
  # GoogleTest's headers dominate a test's compile time: precompiled once, by the first program of
  # each level.
  get_property(first GLOBAL PROPERTY sweetspot_first_test_${ARG_COMPUTES})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <string> <vector> <filesystem>)
    set_property(GLOBAL PROPERTY sweetspot_first_test_${ARG_COMPUTES} ${target})
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 COST ${SWEETSPOT_LONG})
    return()
  endif()
  set(cost 0)
  if(ARG_LONG)
    set(cost ${SWEETSPOT_LONG})
  endif()
  include(GoogleTest)
  # A parameter in a name may print an address; its number, or the name it was given, stays.
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
                       PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 COST ${cost})
endfunction()
