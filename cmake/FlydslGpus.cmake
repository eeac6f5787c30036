# The targets that the emulator runs and that tests run on: one of each generation; gfx1200 has gfx1201's instructions.
# Tests that are for all targets take this list, C++ ones from emulated_targets.h, which is made of it.
set(FLYDSL_EMULATED_TARGETS gfx90a gfx942 gfx950 gfx1100 gfx1201)
set(FLYDSL_EMULATED_TARGETS_INCLUDE "${PROJECT_BINARY_DIR}/tests/emulated_targets")
list(JOIN FLYDSL_EMULATED_TARGETS "\", \"" _names)
set(_header "// Made by cmake/FlydslGpus.cmake from FLYDSL_EMULATED_TARGETS.
#pragma once

/// The targets that tests run on.
inline constexpr const char *kEmulatedTargets[] = {\"${_names}\"};
")
file(CONFIGURE OUTPUT "${FLYDSL_EMULATED_TARGETS_INCLUDE}/emulated_targets.h" CONTENT "${_header}" @ONLY)
