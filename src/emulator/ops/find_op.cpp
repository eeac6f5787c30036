#include "emulator/ops/find_op.h"

#include "emulator/matrix/simd_level.h"
#include "emulator/ops/tables.h"

#include <string>
#include <unordered_map>

namespace flyemu {

const OpTable *laneTables_base(unsigned &n);
#ifdef FLYEMU_HAS_AVX2
const OpTable *laneTables_avx2(unsigned &n);
#endif
#ifdef FLYEMU_HAS_AVX512
const OpTable *laneTables_avx512(unsigned &n);
#endif

namespace {
/// The tables of the process's level, or of the best below it that the build has.
const OpTable *laneTables(unsigned &n) {
  [[maybe_unused]] const SimdLevel level = simdLevel();
#ifdef FLYEMU_HAS_AVX512
  if (level >= SimdLevel::Avx512)
    return laneTables_avx512(n);
#endif
#ifdef FLYEMU_HAS_AVX2
  if (level >= SimdLevel::Avx2)
    return laneTables_avx2(n);
#endif
  return laneTables_base(n);
}

using Map = std::unordered_map<std::string_view, const OpDef *>;

Map makeMap() {
  Map map;
  auto add = [&](OpTable t) {
    for (const OpDef *d = t.begin; d != t.end; ++d)
      map.emplace(d->name, d);
  };
  for (OpTable t : {tableSalu(), tableControl(), tableSmem(), tableGlobal(), tableBuffer(),
                    tableBufferTyped(), tableDs(), tableTransposed(), tableAsync(), tableTensor(),
                    tableCrossLane(), tableGprIndex(), tableScaledConvert(), tableSaluFloat()})
    add(t);
  unsigned n = 0;
  const OpTable *lanes = laneTables(n);
  for (unsigned k = 0; k < n; ++k)
    add(lanes[k]);
  return map;
}
} // namespace

const OpDef *findOp(std::string_view mnemonic) {
  static const Map &map = *new Map(makeMap()); // not destroyed: streams may run at exit
  auto it = map.find(mnemonic);
  return it == map.end() ? nullptr : it->second;
}

} // namespace flyemu
