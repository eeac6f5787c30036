# Writes the headers of a folder as the strings of compat_headers.h:
#   cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake
file(GLOB _headers "${FOLDER}/*.h")
set(_rows "")
foreach(_header IN LISTS _headers)
  file(READ "${_header}" _text)
  get_filename_component(_name "${_header}" NAME)
  string(APPEND _rows "    {\"${_name}\", R\"embedded(${_text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by embed.cmake.
#include \"emulator/hip/rtc/compat_headers.h\"

namespace flyemu::hip {

std::span<const CompatHeader> compatHeaders() {
  static constexpr CompatHeader headers[] = {
${_rows}  };
  return headers;
}

} // namespace flyemu::hip
")
