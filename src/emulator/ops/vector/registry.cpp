// Compiled once for each host level: finds an operation in the tables of that level.
#include "emulator/ops/tables.h"

#define FLYEMU_CONCAT2(a, b) a##b
#define FLYEMU_CONCAT(a, b) FLYEMU_CONCAT2(a, b)
#define FLYEMU_TABLE_OF(name, level) FLYEMU_CONCAT(FLYEMU_CONCAT(table##name, _), level)(),

namespace flyemu {

/// The lane tables of this level, count at `n`.
const OpTable *FLYEMU_CONCAT(laneTables_, FLYEMU_LEVEL)(unsigned &n) {
  static const OpTable kTables[] = {FLYEMU_LANE_TABLES(FLYEMU_TABLE_OF, FLYEMU_LEVEL)};
  n = sizeof(kTables) / sizeof(kTables[0]);
  return kTables;
}

} // namespace flyemu
