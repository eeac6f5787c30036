# The targets that the emulator runs and that tests run on: one of each generation; gfx1200 has gfx1201's instructions.
# Tests that are for all targets take this list, C++ ones from emulated_targets.h, which is made of it.
set(FLYDSL_EMULATED_TARGETS gfx90a gfx942 gfx950 gfx1100 gfx1201)
# Targets on which whole programs of kernels' cases run with the long tests alone, because every run would take a sixth
# longer. A call of each family runs on them in every run.
set(FLYDSL_LONG_TARGETS gfx1250)
# Both, for tests that each target has one of.
set(FLYDSL_ALL_TARGETS ${FLYDSL_EMULATED_TARGETS} ${FLYDSL_LONG_TARGETS})
# All that the emulator runs, for what is proved on the host and for lists of names.
set(FLYDSL_EMULATOR_TARGETS ${FLYDSL_ALL_TARGETS} gfx1200)
list(SORT FLYDSL_EMULATOR_TARGETS COMPARE NATURAL)
# The label of a test on a target: `label`, or long.
function(flydsl_label_of_target variable target label)
  if(target IN_LIST FLYDSL_LONG_TARGETS)
    set(label long)
  endif()
  set(${variable} ${label} PARENT_SCOPE)
endfunction()
# The part of a program's cases that runs on a target in every run, as TEST_PART takes it, so that all tests end in minutes:
# all cases run on gfx942, and a sixth of them on each other target, each another one. All cases on each target are a long test.
set(FLYDSL_PART_gfx950 0/6)
set(FLYDSL_PART_gfx90a 2/6)
set(FLYDSL_PART_gfx1201 1/6)
set(FLYDSL_PART_gfx1100 4/6)
# The label of the `number`-th of several tests of a kind on a target: `label` if the test is in the target's part, or if the
# target has no part; else long.
function(flydsl_label_of_part variable number target label)
  if(FLYDSL_PART_${target} MATCHES "^([0-9]+)/([0-9]+)$")
    math(EXPR _place "${number} % ${CMAKE_MATCH_2}")
    if(NOT _place EQUAL CMAKE_MATCH_1)
      set(label long)
    endif()
  endif()
  set(${variable} ${label} PARENT_SCOPE)
endfunction()
set(FLYDSL_EMULATED_TARGETS_INCLUDE "${PROJECT_BINARY_DIR}/tests/emulated_targets")
list(JOIN FLYDSL_EMULATED_TARGETS "\", \"" _names)
list(JOIN FLYDSL_ALL_TARGETS "\", \"" _all_names)
list(JOIN FLYDSL_EMULATOR_TARGETS "\", \"" _emulator_names)
set(_header "// Made by cmake/FlydslGpus.cmake of its lists of targets.
#pragma once

/// The targets that tests run on.
inline constexpr const char *kEmulatedTargets[] = {\"${_names}\"};
/// These, and those on which whole programs of kernels are long tests.
inline constexpr const char *kAllTargets[] = {\"${_all_names}\"};
/// All that the emulator runs: these, and gfx1200, which has gfx1201's instructions.
inline constexpr const char *kEmulatorTargets[] = {\"${_emulator_names}\"};
")
file(CONFIGURE OUTPUT "${FLYDSL_EMULATED_TARGETS_INCLUDE}/emulated_targets.h" CONTENT "${_header}" @ONLY)
