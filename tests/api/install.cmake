# Installs BUILD below FOLDER, moves it, and builds and runs SOURCE/examples/library beside it with
# COMPILER and FLAGS: what a project of somebody else does.
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV} ended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/installed)
file(RENAME ${FOLDER}/installed ${FOLDER}/moved)
foreach(file bin/sweetspot include/sweetspot/tune.h share/sweetspot/python/sweetspot.py share/doc/sweetspot/docs/protocol.md
             share/doc/sweetspot/NOTICE share/man/man1/sweetspot-tune.1 share/bash-completion/completions/sweetspot
             share/zsh/site-functions/_sweetspot share/fish/vendor_completions.d/sweetspot.fish)
  if(NOT EXISTS ${FOLDER}/moved/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE}/examples/library -B ${FOLDER}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_PREFIX_PATH=${FOLDER}/moved)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/tune_regression)
if(NOT output MATCHES "Train with batch [0-9]+")
  message(FATAL_ERROR "tune_regression gave no answer:\n${output}")
endif()
run(${FOLDER}/build/train_regression)

# The page shows the program that was just built.
file(READ ${SOURCE}/docs/library.md page)
file(READ ${SOURCE}/examples/library/tune_regression.cpp program)
string(FIND "${page}" "${program}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "docs/library.md does not show examples/library/tune_regression.cpp as it is")
endif()
file(REMOVE_RECURSE ${FOLDER})
