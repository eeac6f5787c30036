# This script runs when a test program was built. It writes OUT, which CTest reads, with one test
# per test case of PROGRAM.
#   cmake -DPROGRAM=... -DRUN=name -DSPEC=... -DPROPERTIES=... -DOUT=... -P FlydslDiscoverCases.cmake
# SPEC chooses test cases as on the program's command line; without it, all cases that are not
# hidden are chosen. PROPERTIES is the text of a property list, as set_tests_properties takes it.
# CMake splits lists at semicolons and keeps brackets together, and the name of a test case may
# contain both. Names are therefore never put into a list here.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${PROGRAM}" ${SPEC} --list-test-names-only OUTPUT_VARIABLE names ERROR_VARIABLE errors)
set(text "")
set(count 0)
while(NOT names STREQUAL "")
  string(FIND "${names}" "\n" end)
  if(end EQUAL -1)
    string(LENGTH "${names}" end)
    string(APPEND names "\n")
  endif()
  string(SUBSTRING "${names}" 0 ${end} name)
  math(EXPR next "${end} + 1")
  string(SUBSTRING "${names}" ${next} -1 names)
  if(name STREQUAL "")
    continue()
  endif()
  # This escapes the characters that mean more to Catch2 than a part of a name.
  string(REGEX REPLACE "([\\\\,\"*~]|\\[|\\])" "\\\\\\1" pattern "${name}")
  string(APPEND text
    "add_test([====[${RUN}: ${name}]====] [====[${PROGRAM}]====] [====[${pattern}]====])\n"
    "set_tests_properties([====[${RUN}: ${name}]====] PROPERTIES ${PROPERTIES})\n")
  math(EXPR count "${count} + 1")
endwhile()
if(count EQUAL 0)
  message(FATAL_ERROR "${RUN}: ${PROGRAM} lists no test case for '${SPEC}': ${errors}")
endif()
file(WRITE "${OUT}" "${text}")
