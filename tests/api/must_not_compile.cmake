# COMPILER, INCLUDE, SNIPPETS, SCRATCH: each snippet must compile as it is, and must not compile with -DMISUSE. A
# line `// says: TEXT` in it requires TEXT in an error of the compiler.
file(GLOB snippets "${SNIPPETS}/*.cpp")
if(NOT snippets)
  message(FATAL_ERROR "no snippets in ${SNIPPETS}")
endif()
# All of them read the umbrella header, which is compiled once.
file(MAKE_DIRECTORY "${SCRATCH}")
file(WRITE "${SCRATCH}/flydsl.h" "#include <flydsl/flydsl.h>\n")
execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${INCLUDE}" -x c++-header "${SCRATCH}/flydsl.h" -o "${SCRATCH}/flydsl.h.gch"
  COMMAND_ERROR_IS_FATAL ANY)
set(flags -std=c++20 "-I${INCLUDE}" -include "${SCRATCH}/flydsl.h" -fsyntax-only)
foreach(snippet IN LISTS snippets)
  execute_process(COMMAND "${COMPILER}" ${flags} "${snippet}" RESULT_VARIABLE good ERROR_VARIABLE errors)
  if(good)
    message(SEND_ERROR "${snippet} should compile:\n${errors}")
  endif()
  execute_process(COMMAND "${COMPILER}" ${flags} -DMISUSE "${snippet}" RESULT_VARIABLE bad
    ERROR_VARIABLE errors)
  if(NOT bad)
    message(SEND_ERROR "${snippet} compiles with MISUSE")
  endif()
  file(STRINGS "${snippet}" asked REGEX "^// says: ")
  foreach(line IN LISTS asked)
    string(REPLACE "// says: " "" text "${line}")
    # Compilers show lines of source below their errors: those do not count.
    string(REGEX MATCHALL "error: [^\n]*" said "${errors}")
    string(FIND "${said}" "${text}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "no error of ${snippet} with MISUSE says \"${text}\":\n${errors}")
    endif()
  endforeach()
endforeach()
