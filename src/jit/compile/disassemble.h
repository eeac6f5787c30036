// The instructions of a code object as text.
#pragma once

#include "jit/code_object/code_object.h"

#include <string>

namespace flydsl::jit {

/// The final ISA as text, by disassembly of the code object.
std::string disassemble(const CodeObject &object);

} // namespace flydsl::jit
