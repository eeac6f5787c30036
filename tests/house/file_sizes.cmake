# No source file passes the hard limit of 1,500 lines.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE files "${ROOT}/src/*.cpp" "${ROOT}/src/*.h" "${ROOT}/src/*.td" "${ROOT}/include/*.h"
     "${ROOT}/kernels/*" "${ROOT}/samples/*.cpp" "${ROOT}/tests/*.cpp" "${ROOT}/tools/*.cpp")
set(bad "")
foreach(file IN LISTS files)
  file(STRINGS "${file}" lines REGEX "[^ \t]")   # blank lines do not count
  list(LENGTH lines count)
  if(count GREATER 1500)
    file(RELATIVE_PATH shown "${ROOT}" "${file}")
    list(APPEND bad "${shown}: ${count} lines")
  endif()
endforeach()
list(LENGTH files total)
if(total LESS 20)
  message(FATAL_ERROR "only ${total} files were found under ${ROOT}: the check looks in the wrong place")
endif()
if(bad)
  list(JOIN bad "\n  " text)
  message(FATAL_ERROR "files past 1,500 lines; split them along their concepts:\n  ${text}")
endif()
message(STATUS "${total} files are within the limit")
