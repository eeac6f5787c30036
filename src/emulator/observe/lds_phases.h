// How LDS serves the lanes of an access: in which groups, and over how many banks.
#pragma once

#include "emulator/isa/lds_rows.h"
#include "emulator/isa/machine.h"

namespace flyemu {

/// How an access of so many dwords a lane (1 to 4) is served.
const LdsService &ldsService(const Machine &machine, LdsAccess access, unsigned dwords);

} // namespace flyemu
