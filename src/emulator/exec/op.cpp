#include "emulator/exec/op.h"

#include "emulator/exec/tables.h"

#include <cstdlib>
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
/// The best level that both the build and the machine have; FLYDSL_EMULATOR_SIMD (base, avx2,
/// avx512) lowers it.
const OpTable *laneTables(unsigned &n) {
  const char *wish = std::getenv("FLYDSL_EMULATOR_SIMD");
  [[maybe_unused]] std::string_view level = wish ? wish : "";
#ifdef FLYEMU_HAS_AVX512
  if ((level.empty() || level == "avx512") && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return laneTables_avx512(n);
#endif
#ifdef FLYEMU_HAS_AVX2
  if (level != "base" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c"))
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
                    tableBufferTyped(), tableDs(), tableTransposed(), tableCrossLane(),
                    tableGprIndex(), tableScaledConvert(), tableSaluFloat()})
    add(t);
  unsigned n = 0;
  const OpTable *lanes = laneTables(n);
  for (unsigned k = 0; k < n; ++k)
    add(lanes[k]);
  return map;
}
} // namespace

const OpDef *findOp(std::string_view mnemonic) {
  static const Map map = makeMap();
  auto it = map.find(mnemonic);
  return it == map.end() ? nullptr : it->second;
}

} // namespace flyemu
