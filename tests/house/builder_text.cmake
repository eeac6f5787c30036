# The builder works with types, not with text. It creates operations by their C++ classes and types by `get`: a name or
# a type in a string is checked by nobody before a user's kernel meets it. It asks types, not what they print as. So no
# operation, type or attribute stands in a string of the builder or of the public headers, nothing parses IR, and nothing
# looks into what was printed. LLVM's intrinsics have no classes, and their names may stand in strings.
cmake_minimum_required(VERSION 3.25)

set(dialects "(fly|fly_rocdl|arith|math|scf|gpu|vector|func|memref|rocdl|llvm)")
set(text
  "\"${dialects}\\.[a-z_]"                       # an operation: "arith.addi"
  "\"[!#]${dialects}[.<\"]"                      # a type or an attribute: "!fly.layout<"
  "(parseType|parseAttribute|parseSourceString|parseSourceFile)\\("
  "(str|typeText|describe|getStringRef)\\([^()]*(\\([^()]*\\))?[^()]*\\)\\.(find|rfind|contains|substr|compare|starts_with|ends_with|startswith|endswith|split)\\("
  "getStringRef\\(\\) *[=!]=")
set(intrinsic "\"llvm\\.(amdgcn\\.|trap)")

set(files "")
foreach(folder src/builder include/flydsl)
  file(GLOB_RECURSE found "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cpp")
  list(LENGTH found count)
  if(count LESS 20)
    message(FATAL_ERROR "only ${count} files were found under ${ROOT}/${folder}: the check looks in the wrong place")
  endif()
  list(APPEND files ${found})
endforeach()

set(bad "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH shown "${ROOT}" "${file}")
  # Semicolons and brackets would take CMake's lists apart.
  file(READ "${file}" content)
  string(REGEX REPLACE "[][;]" " " content "${content}")
  string(REPLACE "\n" ";" lines "${content}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *(//|#include)")
      continue()
    endif()
    string(REGEX REPLACE "${intrinsic}" "\"" line "${line}")
    foreach(pattern IN LISTS text)
      if(line MATCHES "${pattern}")
        string(STRIP "${line}" line)
        list(APPEND bad "${shown}: ${line}")
        break()
      endif()
    endforeach()
  endforeach()
endforeach()
if(bad)
  list(JOIN bad "\n  " list)
  message(FATAL_ERROR "IR as text in the builder; use the classes of operations, types and attributes:\n  ${list}")
endif()
list(LENGTH files total)
message(STATUS "${total} files hold no IR as text")
