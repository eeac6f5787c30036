// The function under fuzzing: it takes a text as Fly IR through the parser, the verifier, the
// printer and the passes.
#pragma once

#include <string_view>

namespace flydsl::fuzz {

/// Parses `text`; where it is a module, prints and parses it again and runs the passes over it.
/// Aborts where the second reading fails or prints differently.
void runIR(std::string_view text);

} // namespace flydsl::fuzz
