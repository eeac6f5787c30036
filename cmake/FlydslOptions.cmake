# Build options, compiler defaults, ccache, sanitizers.
include(GNUInstallDirs)

option(FLYDSL_BUILD_TESTS "Build the tests" ON)
option(FLYDSL_BUILD_SAMPLES "Build the samples" ON)
option(FLYDSL_BUILD_BENCH "Build the benchmarks" ON)
set(FLYDSL_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")
# A process that loads a libflydsl with LLVM inside starts in a fifth of the time (bench_startup), because LLVM's shared libraries
# are bound symbol by symbol. With sanitizers a start takes long anyway.
set(_llvm static)
if(FLYDSL_SANITIZE)
  set(_llvm shared)
endif()
set(FLYDSL_LLVM ${_llvm} CACHE STRING "How libflydsl links LLVM and MLIR: static for one library that shows its API alone, or shared")
set_property(CACHE FLYDSL_LLVM PROPERTY STRINGS static shared)
if(NOT FLYDSL_LLVM MATCHES "^(static|shared)$")
  message(FATAL_ERROR "FLYDSL_LLVM=${FLYDSL_LLVM}: expected static or shared")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
if(FLYDSL_SANITIZE) # property tests would take minutes otherwise
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# Binaries find libflydsl and the emulator in their own directory, both in the build tree and
# installed.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
# Installed binaries also find LLVM where it was linked.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

find_program(FLYDSL_CCACHE ccache)
if(FLYDSL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these, ccache keeps nothing of what uses a precompiled header.
  set(_sloppiness "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime")
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "${_sloppiness}" "${FLYDSL_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "${_sloppiness}" "${FLYDSL_CCACHE}")
endif()

find_program(FLYDSL_LLD NAMES ld.lld-22 ld.lld)
if(FLYDSL_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options("--ld-path=${FLYDSL_LLD}")
endif()

# Addresses to be set at the load of a library stand in a table of 24 bytes each, or packed, of a few bits each (DT_RELR, which
# glibc 2.36 and later apply). LLVM brings 120,000 of them.
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
check_cxx_source_compiles("#include <features.h>
#if !__GLIBC_PREREQ(2, 36)
#error
#endif
int main() {}" FLYDSL_LIBC_READS_RELR)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs FLYDSL_LINKER_WRITES_RELR)
if(FLYDSL_LIBC_READS_RELR AND FLYDSL_LINKER_WRITES_RELR)
  add_link_options(-Wl,-z,pack-relative-relocs)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
# Shared libraries must name all that they need. With sanitizers they cannot, because the
# sanitizers' runtime is in the program.
set(FLYDSL_NO_UNDEFINED "-Wl,-z,defs")
if(FLYDSL_SANITIZE)
  set(FLYDSL_NO_UNDEFINED "")
  add_compile_options("-fsanitize=${FLYDSL_SANITIZE}" -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${FLYDSL_SANITIZE}")
  if(FLYDSL_SANITIZE MATCHES "address|undefined|thread")
    add_library(flydsl_sanitizer_defaults OBJECT "${PROJECT_SOURCE_DIR}/cmake/sanitizer_defaults.cpp")
    link_libraries("$<BUILD_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:flydsl_sanitizer_defaults>>>")
  endif()
endif()
