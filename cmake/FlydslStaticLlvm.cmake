# LLVM, MLIR and LLD as archives, for a libflydsl that needs no shared LLVM and exports none of its
# symbols.
#   flydsl_static_llvm: the target that such a library links.
# The archives are named by their files, because the CMake targets of a distribution's LLVM lead to
# its shared libraries.
get_filename_component(_lib "${LLVM_LIBRARY_DIR}" REALPATH)
file(GLOB _archives "${_lib}/libMLIR*.a" "${_lib}/libLLVM*.a")
if(NOT EXISTS "${_lib}/libMLIRIR.a" OR NOT EXISTS "${_lib}/libLLVMCore.a" OR NOT EXISTS "${_lib}/liblldELF.a")
  message(FATAL_ERROR "no archives of LLVM, MLIR and LLD in ${_lib} (Debian: llvm-22-dev, libmlir-22-dev, liblld-22-dev)")
endif()
list(FILTER _archives EXCLUDE REGEX "libMLIR(Test|CAPI|.*Runner)")
list(APPEND _archives "${_lib}/liblldELF.a" "${_lib}/liblldCommon.a")

# LLD registers every target of LLVM, and LLVM's link-time optimiser refers to Polly. Neither is
# used here. Empty functions in their place keep 20 code generators and Polly out.
set(_others ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM _others AMDGPU)
set(_text "// Generated. Code generators that this library does not have.\n")
foreach(_target IN LISTS _others)
  foreach(_part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND _text "extern \"C\" void LLVMInitialize${_target}${_part}() {}\n")
  endforeach()
endforeach()
string(APPEND _text "\n#include \"llvm/Plugins/PassPlugin.h\"\n"
  "llvm::PassPluginLibraryInfo getPollyPluginInfo() {\n"
  "  return {LLVM_PLUGIN_API_VERSION, \"none\", LLVM_VERSION_STRING, [](llvm::PassBuilder &) {}};\n}\n")
set(_absent "${PROJECT_BINARY_DIR}/src/absent_targets.cpp")
file(CONFIGURE OUTPUT "${_absent}" CONTENT "${_text}" @ONLY)
add_library(flydsl_absent_targets OBJECT "${_absent}")
target_link_libraries(flydsl_absent_targets PRIVATE flydsl_llvm_headers)
target_compile_options(flydsl_absent_targets PRIVATE -Wno-missing-declarations -Wno-missing-prototypes)

find_package(ZLIB REQUIRED)
add_library(flydsl_static_llvm INTERFACE)
target_link_libraries(flydsl_static_llvm INTERFACE $<TARGET_OBJECTS:flydsl_absent_targets>
  -Wl,--start-group ${_archives} -Wl,--end-group ZLIB::ZLIB PkgConfig::ZSTD)
target_link_options(flydsl_static_llvm INTERFACE -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--build-id=sha1)
if(FLYDSL_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What runs before main stands together (.text.startup), as GNU's linker has it anyway: 450 functions would otherwise touch as
  # many places of the file.
  target_link_options(flydsl_static_llvm INTERFACE "--ld-path=${FLYDSL_LLD}" -Wl,--icf=all -Wl,-O2 -Wl,-z,keep-text-section-prefix)
  # So do the functions that a first kernel needs, a fifth of the code: they would otherwise be spread over all of it, and a
  # processor keeps the addresses of a few thousand pages at hand. scripts/function-order makes the list of a finished
  # build and links it again; a build without the list is right, and starts a fifth slower.
  set(_order "${PROJECT_BINARY_DIR}/src/function-order.txt")
  if(EXISTS "${_order}")
    target_link_options(flydsl_static_llvm INTERFACE "-Wl,--symbol-ordering-file=${_order}" -Wl,--no-warn-symbol-ordering)
    set_property(TARGET flydsl_static_llvm APPEND PROPERTY INTERFACE_LINK_DEPENDS "${_order}")
  endif()
endif()
