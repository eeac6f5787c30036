# The packages that the project depends on; all are Debian's (scripts/setup installs them). LLVM's
# version files accept only an equal major.minor, so this file checks the major version itself.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM REQUIRED CONFIG HINTS "${MLIR_DIR}/../llvm")
find_package(LLD REQUIRED CONFIG HINTS "${MLIR_DIR}/../lld")
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "flydsl needs LLVM and MLIR 22; found ${LLVM_VERSION} in ${LLVM_DIR}")
endif()
# A part of the compiler repeats rules of one LLVM (src/jit/compile/README.md) and is left out of builds with others.
set(_quickGroups OFF)
if(LLVM_VERSION_MAJOR EQUAL 22)
  set(_quickGroups ON)
endif()
option(FLYDSL_QUICK_GROUPS "Order scheduling groups by the project's own step, which takes less time than LLVM's" ${_quickGroups})
find_package(spdlog REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
find_package(Threads REQUIRED)
find_package(amd_comgr REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

# The client of the fleet's cache is built where both of its packages are; without it, a program that names a server
# is told so.
pkg_check_modules(HIREDIS IMPORTED_TARGET hiredis)
find_package(OpenSSL 3.0 COMPONENTS SSL Crypto)
if(HIREDIS_FOUND AND OPENSSL_FOUND)
  set(FLYDSL_REDIS ON)
else()
  set(FLYDSL_REDIS OFF)
  message(STATUS "flydsl: no hiredis or OpenSSL 3: built without the fleet's cache (libflydsl_redis)")
endif()
find_path(HIP_INCLUDE_DIR hip/hip_runtime_api.h REQUIRED)

# The bitcode of ROCm's device library. Kernels that use sin, erf and the like are linked with it.
find_path(FLYDSL_DEVICE_LIBRARY_DIR ocml.bc REQUIRED
  PATHS "/usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/amdgcn/bitcode" "$ENV{ROCM_PATH}/amdgcn/bitcode" /opt/rocm/amdgcn/bitcode
  DOC "Folder of ocml.bc and ockl.bc")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM's and MLIR's headers are system headers, because their warnings do not concern this project.
add_library(flydsl_llvm_headers INTERFACE)
target_include_directories(flydsl_llvm_headers SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(flydsl_llvm_headers INTERFACE ${_llvm_definitions})
target_compile_options(flydsl_llvm_headers INTERFACE -Wno-unused-parameter)

# What rooms link. In a program or library that has its own LLVM (flydsl_own_llvm), these are the archives of
# FlydslStaticLlvm.cmake; otherwise the distribution's shared libraries.
define_property(TARGET PROPERTY FLYDSL_OWN_LLVM BRIEF_DOCS "Whether the target has LLVM inside")
set(_own "$<BOOL:$<TARGET_PROPERTY:FLYDSL_OWN_LLVM>>")
add_library(flydsl_llvm INTERFACE)
target_link_libraries(flydsl_llvm INTERFACE "$<IF:${_own},flydsl_static_llvm,LLVM>")
add_library(flydsl_mlir INTERFACE)
target_link_libraries(flydsl_mlir INTERFACE "$<IF:${_own},flydsl_static_llvm,MLIR>" flydsl_llvm)
add_library(flydsl_lld INTERFACE)
target_link_libraries(flydsl_lld INTERFACE "$<IF:${_own},flydsl_static_llvm,lldELF>" "$<IF:${_own},flydsl_static_llvm,lldCommon>")
# With FLYDSL_LLVM=static, what is installed needs no shared LLVM:
#   flydsl_own_llvm(target ...)
function(flydsl_own_llvm)
  if(FLYDSL_LLVM STREQUAL "static")
    set_target_properties(${ARGN} PROPERTIES FLYDSL_OWN_LLVM ON)
  endif()
endfunction()

# The HIP headers declare functions only; nothing here links HIP.
add_library(flydsl_hip_headers INTERFACE)
target_include_directories(flydsl_hip_headers SYSTEM INTERFACE "${HIP_INCLUDE_DIR}")
target_compile_definitions(flydsl_hip_headers INTERFACE __HIP_PLATFORM_AMD__=1 __HIP_PLATFORM_HCC__=1)

# The tests and benchmarks of the fleet's cache start servers of their own.
find_program(FLYDSL_REDIS_SERVER redis-server)
if(FLYDSL_BUILD_TESTS)
  find_package(Catch2 2.13 REQUIRED CONFIG)
endif()
if(FLYDSL_BUILD_BENCH)
  find_package(benchmark REQUIRED CONFIG)
endif()
