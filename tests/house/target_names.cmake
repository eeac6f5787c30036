# No room decides by the name of a processor. A name does not tell the features of a processor: "gfx94" is not all of CDNA3,
# "gfx12" begins gfx1250's name too, and a new processor would be classified by its digits. Rooms ask
# the processor's row (src/target/processors.h) for its family or a feature. Names stand in tables, where they are looked
# up whole. A test whether a text is a target id at all ("gfx", no digit) is not such a decision.
cmake_minimum_required(VERSION 3.25)

set(name "\"gfx[0-9]")
set(comparisons
  "(substr|compare|find|startsWith|starts_with|startswith|consume|consume_front|equals|strcmp|strncmp|memcmp)\\([^\"]*${name}"
  "[=!]= *${name}"
  "${name}[a-z0-9]*\" *[=!]="
  "Cases?\\(\\{? *${name}")

file(GLOB_RECURSE files "${ROOT}/src/*.cpp" "${ROOT}/src/*.h")
list(LENGTH files total)
if(total LESS 20)
  message(FATAL_ERROR "only ${total} files were found under ${ROOT}: the check looks in the wrong place")
endif()
set(bad "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH shown "${ROOT}" "${file}")
  file(STRINGS "${file}" lines REGEX "${name}")
  foreach(line IN LISTS lines)
    foreach(comparison IN LISTS comparisons)
      if(line MATCHES "${comparison}")
        string(STRIP "${line}" line)
        list(APPEND bad "${shown}: ${line}")
        break()
      endif()
    endforeach()
  endforeach()
endforeach()
if(bad)
  list(JOIN bad "\n  " text)
  message(FATAL_ERROR "decisions by a processor's name; ask for its family or a feature:\n  ${text}")
endif()
message(STATUS "${total} files decide by no processor's name")
