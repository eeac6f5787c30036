# vcpkg's port, used as an overlay from a checkout: vcpkg install flydsl --overlay-ports=packaging/vcpkg
#
# LLVM, MLIR and LLD 22, comgr's and HIP's headers and ROCm's device library are the system's; docs/installing.md names the
# packages of distributions.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DFLYDSL_LLVM=static
    -DFLYDSL_BUILD_TESTS=OFF
    -DFLYDSL_BUILD_SAMPLES=OFF
    -DFLYDSL_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/flydsl)
vcpkg_copy_tools(
  TOOL_NAMES fly-cache fly-compile fly-emu fly-kernels fly-layout fly-lsp-server fly-new fly-opt fly-run
  AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
