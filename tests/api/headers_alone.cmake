# COMPILER, INCLUDE (the public include folder), SCRATCH.
file(GLOB_RECURSE headers RELATIVE "${INCLUDE}" "${INCLUDE}/flydsl/*.h")
if(NOT headers)
  message(FATAL_ERROR "no headers below ${INCLUDE}")
endif()
file(MAKE_DIRECTORY "${SCRATCH}")
set(failures 0)
set(flags -std=c++20 -Wall -Wextra -Werror "-I${INCLUDE}")
foreach(header IN LISTS headers)
  set(source "${SCRATCH}/one.cpp")
  # Twice: the header guards itself.
  file(WRITE "${source}" "#include <${header}>\n#include <${header}>\n")
  execute_process(COMMAND "${COMPILER}" ${flags} -fsyntax-only "${source}"
    RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(status)
    message(SEND_ERROR "${header} does not compile by itself:\n${errors}")
  endif()
  execute_process(COMMAND "${COMPILER}" ${flags} -M "${source}" OUTPUT_VARIABLE depends
    RESULT_VARIABLE status)
  string(REGEX MATCHALL "[^ \n\\]*/(mlir|mlir-c|llvm|llvm-c|lld|hip|amd_comgr)/[^ \n]*" foreign
    "${depends}")
  if(foreign)
    message(SEND_ERROR "${header} includes ${foreign}")
  endif()
endforeach()

# What costs a user's compile most: input streams, regular expressions and the like stay out, and the whole
# text that the umbrella header expands to stays bounded.
file(WRITE "${SCRATCH}/all.cpp" "#include <flydsl/flydsl.h>\n")
execute_process(COMMAND "${COMPILER}" ${flags} -M "${SCRATCH}/all.cpp" OUTPUT_VARIABLE depends)
string(REGEX MATCHALL "/(iostream|regex|filesystem|ranges|random|future|format)[ \n]" heavy "${depends}")
if(heavy)
  message(SEND_ERROR "flydsl/flydsl.h includes ${heavy}")
endif()
execute_process(COMMAND "${COMPILER}" ${flags} -E -P "${SCRATCH}/all.cpp"
  OUTPUT_FILE "${SCRATCH}/all.ii")
file(STRINGS "${SCRATCH}/all.ii" lines REGEX "^.")
list(LENGTH lines count)
message(STATUS "flydsl/flydsl.h expands to ${count} lines")
if(count GREATER 60000)
  message(SEND_ERROR "flydsl/flydsl.h expands to ${count} lines; the limit is 60000")
endif()
