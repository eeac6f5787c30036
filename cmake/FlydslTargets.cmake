# Headers that many files read are compiled once: flydsl_precompiled_header makes the compiled header,
# and flydsl_use_precompiled_header gives it to a target. Clang leaves the time out of it, so that
# equal headers give equal files and ccache finds what it has.
function(flydsl_precompiled_header name)
  cmake_parse_arguments(P "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" "// A library needs a source; ${name} is here for its precompiled header.\n")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE ${P_LINK})
  target_compile_options(${name} PRIVATE ${P_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${P_HEADERS})
  flydsl_without_timestamp(${name})
endfunction()
function(flydsl_use_precompiled_header target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  flydsl_without_timestamp(${target})
endfunction()
function(flydsl_without_timestamp target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# Rooms that use MLIR are compiled at -O1 at most, which halves the compile time of code that consists
# of templates rather than loops. With sanitizers they are not optimized at all, because their checks
# double the code that the optimizer would have to process.
set(FLYDSL_MLIR_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(FLYDSL_MLIR_OPTIONS -O1)
elseif(FLYDSL_SANITIZE)
  set(FLYDSL_MLIR_OPTIONS -O0)
endif()
flydsl_precompiled_header(flydsl_mlir_headers
  HEADERS
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/ROCDLDialect.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/UB/IR/UBOps.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/Builders.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/Pass/Pass.h>
    <llvm/ADT/TypeSwitch.h>
  LINK flydsl_llvm_headers
  OPTIONS ${FLYDSL_MLIR_OPTIONS})

# One room of the house: a static library with hidden symbols. All of it goes into libflydsl, and
# tests and tools link it directly.
#   flydsl_room(name SOURCES a.cpp ... LINK other ... [MLIR] [HIP])
# MLIR: the room uses LLVM's and MLIR's headers, precompiled, and links their shared libraries.
function(flydsl_room name)
  cmake_parse_arguments(ROOM "MLIR;HIP" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/src")
  target_compile_definitions(${name} PRIVATE FLYDSL_BUILDING)
  target_link_libraries(${name} PUBLIC ${ROOM_LINK})
  if(ROOM_MLIR)
    target_link_libraries(${name} PUBLIC flydsl_llvm_headers flydsl_mlir)
    target_compile_options(${name} PRIVATE ${FLYDSL_MLIR_OPTIONS})
    flydsl_use_precompiled_header(${name} flydsl_mlir_headers)
  endif()
  if(ROOM_HIP)
    target_link_libraries(${name} PUBLIC flydsl_hip_headers)
  endif()
endfunction()

# Installs a shared library: itself with the component, the link to it that compilers use with the component dev.
#   flydsl_install_library(target COMPONENT component)
function(flydsl_install_library target)
  cmake_parse_arguments(L "" "COMPONENT" "" ${ARGN})
  install(TARGETS ${target} EXPORT flydsl-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${L_COMPONENT} NAMELINK_COMPONENT dev)
endfunction()

# How many times as long tests may take: with sanitizers, property tests take at least ten times as long and most others
# less. tests/support/time_limit.h says the same to programs.
set(FLYDSL_TIMES_LONGER 1)
if(FLYDSL_SANITIZE)
  set(FLYDSL_TIMES_LONGER 4)
endif()
# At the end of the current folder, multiplies the TIMEOUT of each of its tests by FLYDSL_TIMES_LONGER. flydsl_test and
# flydsl_libfuzzer call it; a folder that calls neither calls it itself (flydsl_check_limits).
function(flydsl_longer_limits)
  get_property(_called DIRECTORY PROPERTY FLYDSL_LONGER_LIMITS)
  if(NOT _called)
    set_property(DIRECTORY PROPERTY FLYDSL_LONGER_LIMITS ON)
    cmake_language(DEFER CALL flydsl_multiply_limits)
  endif()
endfunction()
function(flydsl_multiply_limits)
  get_property(_tests DIRECTORY PROPERTY TESTS)
  foreach(_test IN LISTS _tests)
    get_property(_limit TEST "${_test}" PROPERTY TIMEOUT)
    if(_limit)
      math(EXPR _limit "${FLYDSL_TIMES_LONGER} * ${_limit}")
      set_property(TEST "${_test}" PROPERTY TIMEOUT ${_limit})
    endif()
    # Scripts that end what they run multiply their limits by it.
    set_property(TEST "${_test}" APPEND PROPERTY ENVIRONMENT "TIMES_LONGER=${FLYDSL_TIMES_LONGER}")
  endforeach()
endfunction()
# Stops where a folder under `folder` has tests whose limits stay as they are without sanitizers.
function(flydsl_check_limits folder)
  get_property(_tests DIRECTORY "${folder}" PROPERTY TESTS)
  get_property(_called DIRECTORY "${folder}" PROPERTY FLYDSL_LONGER_LIMITS)
  if(_tests AND NOT _called)
    message(FATAL_ERROR "${folder}: it has tests, but their time limits know no sanitizers: call flydsl_longer_limits()")
  endif()
  get_property(_inner DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(_folder IN LISTS _inner)
    flydsl_check_limits("${_folder}")
  endforeach()
endfunction()

# A Catch2 test program, one per room or topic. Each of its test cases is one CTest test, "name:
# test case".
#   flydsl_test(name LABEL tier SOURCES ... LINK ... [WHOLE] [ALONE] [TIMEOUT s] [ENVIRONMENT a=b ...] [FAIL_ON regex] [SPEC ...])
# WHOLE: the cases rely on one another, so that the program is one CTest test. ALONE: CTest runs nothing
# beside it. The other words are those of flydsl_test_cases.
function(flydsl_test name)
  cmake_parse_arguments(T "WHOLE;ALONE" "LABEL;TIMEOUT;FAIL_ON" "SOURCES;LINK;ENVIRONMENT;SPEC" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE flydsl_test_main ${T_LINK})
  flydsl_use_precompiled_header(${name} ${FLYDSL_CATCH_HEADERS})
  set(_flags "")
  foreach(_flag WHOLE ALONE)
    if(T_${_flag})
      list(APPEND _flags ${_flag})
    endif()
  endforeach()
  flydsl_test_cases(${name} ${_flags} PROGRAM ${name} LABEL "${T_LABEL}" TIMEOUT "${T_TIMEOUT}" FAIL_ON "${T_FAIL_ON}"
    ENVIRONMENT ${T_ENVIRONMENT} SPEC ${T_SPEC})
endfunction()

# Runs test cases of a program that flydsl_test made under another name, in another environment.
#   flydsl_test_cases(run PROGRAM name LABEL tier [WHOLE] [ALONE] [TIMEOUT s] [ENVIRONMENT a=b ...] [FAIL_ON regex] [SPEC ...])
# TIMEOUT is that of one CTest test, 300 s if none is given; FAIL_ON is output that fails it; SPEC chooses cases as on
# the program's command line.
function(flydsl_test_cases run)
  cmake_parse_arguments(T "WHOLE;ALONE" "PROGRAM;LABEL;TIMEOUT;FAIL_ON" "ENVIRONMENT;SPEC" ${ARGN})
  flydsl_longer_limits()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(NOT T_WHOLE) # CMake does not see these cases
    math(EXPR T_TIMEOUT "${FLYDSL_TIMES_LONGER} * ${T_TIMEOUT}")
  endif()
  set(_properties LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT})
  if(T_ENVIRONMENT)
    list(JOIN T_ENVIRONMENT "\\;" _environment)
    list(APPEND _properties ENVIRONMENT "${_environment}")
  endif()
  if(T_ALONE)
    list(APPEND _properties RUN_SERIAL TRUE)
  endif()
  if(T_FAIL_ON)
    list(APPEND _properties FAIL_REGULAR_EXPRESSION "${T_FAIL_ON}")
  endif()
  if(T_WHOLE)
    add_test(NAME ${run} COMMAND ${T_PROGRAM} ${T_SPEC})
    set_tests_properties(${run} PROPERTIES ${_properties})
    return()
  endif()
  set(_quoted "")
  foreach(_word IN LISTS _properties)
    string(APPEND _quoted " [====[${_word}]====]")
  endforeach()
  set(_cases "${CMAKE_CURRENT_BINARY_DIR}/${run}.cases.cmake")
  add_custom_command(TARGET ${T_PROGRAM} POST_BUILD BYPRODUCTS "${_cases}"
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${T_PROGRAM}>" "-DRUN=${run}" "-DSPEC=${T_SPEC}"
            "-DPROPERTIES=${_quoted}" "-DOUT=${_cases}" -P "${PROJECT_SOURCE_DIR}/cmake/FlydslDiscoverCases.cmake"
    VERBATIM)
  # CTest reads this file first; it reports a program that was not built as a failing test.
  set(_include "${CMAKE_CURRENT_BINARY_DIR}/${run}.include.cmake")
  file(WRITE "${_include}" "if(EXISTS [[${_cases}]])\n  include([[${_cases}]])\nelse()\n  add_test([[${run}: not built]] [[${run}-not-built]])\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${_include}")
endfunction()
