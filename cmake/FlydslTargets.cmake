# One room of the house: a static library with hidden symbols that goes into libflydsl whole and into
# the tests and tools directly.
#   flydsl_room(name SOURCES a.cpp ... LINK other ... [MLIR] [HIP])
# MLIR: sees LLVM's and MLIR's headers and links their shared libraries; compiled at -O1 at most, which
# halves compile time where the time goes to templates and not to loops. With sanitizers, whose checks double what
# the optimizer has to look at, not optimized at all.
function(flydsl_room name)
  cmake_parse_arguments(ROOM "MLIR;HIP" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/src")
  target_compile_definitions(${name} PRIVATE FLYDSL_BUILDING)
  target_link_libraries(${name} PUBLIC ${ROOM_LINK})
  if(ROOM_MLIR)
    target_link_libraries(${name} PUBLIC flydsl_llvm_headers MLIR LLVM)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_compile_options(${name} PRIVATE -O1)
    elseif(FLYDSL_SANITIZE)
      target_compile_options(${name} PRIVATE -O0)
    endif()
  endif()
  if(ROOM_HIP)
    target_link_libraries(${name} PUBLIC flydsl_hip_headers)
  endif()
endfunction()

# A Catch2 test program, one per room or topic, registered as one CTest test per program.
#   flydsl_test(name LABEL tier SOURCES ... LINK ... [TIMEOUT s])
function(flydsl_test name)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE flydsl_test_main ${T_LINK})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(FLYDSL_SANITIZE) # property tests take ten times as long and more
    math(EXPR T_TIMEOUT "4 * ${T_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT})
endfunction()
