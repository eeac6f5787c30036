// AMD's GPUs as a backend.
#pragma once

#include "jit/compile/codegen/backend.h"

namespace flydsl::jit {

const Backend &rocmBackend();

} // namespace flydsl::jit
