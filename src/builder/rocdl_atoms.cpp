// The instructions of AMD's copy and mma atoms, as types of the FlyROCDL dialect.
#include <flydsl/rocdl.h>

#include "builder/static_types.h"

FLYDSL_NAMESPACE_BEGIN

using builder::elementText;
using builder::staticOf;

namespace rocdl {

static std::string number(std::int64_t n) { return std::to_string(n); }
static std::string truth(bool b) { return b ? "true" : "false"; }

CopyOp BufferCopy(int bits, int cache, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna3.buffer_copy<" + number(bits) +
                             (cache ? ", cache = " + number(cache) : "") + ">",
                         loc));
}
CopyOp BufferCopyLDS(int bits, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna3.buffer_copy_lds<" + number(bits) + ">", loc));
}
CopyOp BufferAtomic(AtomicOp op, DType type, Loc loc) {
  return CopyOp(staticOf(std::string("!fly_rocdl.cdna3.buffer_atomic<") + builder::atomicName(op) +
                             ", " + elementText(type) + ">",
                         loc));
}
CopyOp LDSReadTrans(int granularity, int bits, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna4.lds_read_trans<trans = " + number(granularity) + "b, " +
                             number(bits) + ">",
                         loc));
}
CopyOp BufferLoadAsyncLDS(int bits, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna4.buffer_load_async_lds<" + number(bits) + ">", loc));
}
CopyOp GlobalLoadAsyncLDS(int bits, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna4.global_load_async_lds<" + number(bits) + ">", loc));
}
CopyOp TDM(const TdmOptions &o, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.gfx1250.tdm<rank = " + number(o.rank) +
                             ", warps = " + number(o.warps) + ", pad = " + number(o.pad_interval) +
                             ", " + number(o.pad_amount) + ", cache = " + number(o.cache) +
                             ", barrier = " + truth(o.atomic_barrier) +
                             ", timeout = " + truth(o.early_timeout) + ">",
                         loc));
}

/// "16x16x4, (f32, f32) -> f32"
static std::string signature(int m, int n, int k, DType a, DType b, DType acc) {
  return number(m) + "x" + number(n) + "x" + number(k) + ", (" + elementText(a) + ", " +
         elementText(b) + ") -> " + elementText(acc);
}

MmaOp MFMA(int m, int n, int k, DType a, DType b, DType acc, Loc loc) {
  return MmaOp(staticOf("!fly_rocdl.cdna3.mfma<" + signature(m, n, k, a, b, acc) + ">", loc));
}
MmaOp MFMA(int m, int n, int k, DType ab, DType acc, Loc loc) {
  return MFMA(m, n, k, ab, ab, acc, loc);
}
MmaOp MFMAScale(int m, int n, int k, DType a, DType b, DType acc, int opsel_a, int opsel_b,
                Loc loc) {
  return MmaOp(staticOf("!fly_rocdl.cdna4.mfma_scale<" + signature(m, n, k, a, b, acc) +
                            ", opselA = " + number(opsel_a) + ", opselB = " + number(opsel_b) + ">",
                        loc));
}
MmaOp WMMA(int m, int n, int k, DType ab, DType acc, const WmmaOptions &o, Loc loc) {
  llvm::StringRef target = builder::Tracer::require("WMMA", loc).target("WMMA", loc);
  const char *family = target.starts_with("gfx11")     ? "gfx11"
                       : target.starts_with("gfx1250") ? "gfx1250"
                       : target.starts_with("gfx120")  ? "gfx120x"
                                                       : nullptr;
  if (!family)
    throw TraceError("there is no WMMA on " + target.str() + "; gfx11, gfx120x and gfx1250 have it",
                     loc);
  return MmaOp(staticOf(std::string("!fly_rocdl.") + family + ".wmma<" +
                            signature(m, n, k, ab, ab, acc) + ", signA = " + truth(o.sign_a) +
                            ", signB = " + truth(o.sign_b) + ", clamp = " + truth(o.clamp) + ">",
                        loc));
}
MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc, int block_size, Loc loc) {
  return MmaOp(staticOf("!fly_rocdl.gfx1250.wmma_scale<" + signature(m, n, k, a, b, acc) +
                            ", opselA = 0, opselB = 0, modC = 0, reuseA = false, reuseB = false, "
                            "blockSize = " +
                            number(block_size) + ">",
                        loc));
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
