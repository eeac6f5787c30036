// The instructions of AMD's copy and mma atoms, as types of the FlyROCDL dialect.
#include <flydsl/rocdl.h>

#include "builder/atoms/static_types.h"
#include "target/processors.h"

FLYDSL_NAMESPACE_BEGIN

using builder::elementText;
using builder::staticOf;
using detail::Handle;

namespace rocdl {

static std::string number(std::int64_t n) { return std::to_string(n); }
static std::string truth(bool b) { return b ? "true" : "false"; }

/// The instruction, which the traced target has.
static Handle onTarget(const std::string &text, Loc loc) {
  Handle op = staticOf(text, loc);
  builder::expectOnTarget(builder::atomType(op, loc), loc);
  return op;
}
static CopyOp copyOnTarget(const std::string &text, Loc loc) { return CopyOp(onTarget(text, loc)); }
static MmaOp mmaOnTarget(const std::string &text, Loc loc) { return MmaOp(onTarget(text, loc)); }

CopyOp BufferCopy(int bits, int cache, Loc loc) {
  return CopyOp(staticOf("!fly_rocdl.cdna3.buffer_copy<" + number(bits) +
                             (cache ? ", cache = " + number(cache) : "") + ">",
                         loc));
}
CopyOp BufferCopyLDS(int bits, Loc loc) {
  return copyOnTarget("!fly_rocdl.cdna3.buffer_copy_lds<" + number(bits) + ">", loc);
}
CopyOp BufferAtomic(AtomicOp op, DType type, Loc loc) {
  return CopyOp(staticOf(std::string("!fly_rocdl.cdna3.buffer_atomic<") +
                             builder::atomicName(op, type, loc) + ", " + elementText(type) + ">",
                         loc));
}
CopyOp LDSReadTrans(int granularity, int bits, Loc loc) {
  return copyOnTarget("!fly_rocdl.cdna4.lds_read_trans<trans = " + number(granularity) + "b, " +
                          number(bits) + ">",
                      loc);
}
CopyOp BufferLoadAsyncLDS(int bits, Loc loc) {
  return copyOnTarget("!fly_rocdl.cdna4.buffer_load_async_lds<" + number(bits) + ">", loc);
}
CopyOp GlobalLoadAsyncLDS(int bits, Loc loc) {
  return copyOnTarget("!fly_rocdl.cdna4.global_load_async_lds<" + number(bits) + ">", loc);
}
CopyOp TDM(const TdmOptions &o, Loc loc) {
  return copyOnTarget("!fly_rocdl.gfx1250.tdm<rank = " + number(o.rank) +
                          ", warps = " + number(o.warps) + ", pad = " + number(o.pad_interval) +
                          ", " + number(o.pad_amount) + ", cache = " + number(o.cache) +
                          ", barrier = " + truth(o.atomic_barrier) +
                          ", timeout = " + truth(o.early_timeout) + ">",
                      loc);
}

/// "16x16x4, (f32, f32) -> f32"
static std::string signature(int m, int n, int k, DType a, DType b, DType acc) {
  return number(m) + "x" + number(n) + "x" + number(k) + ", (" + elementText(a) + ", " +
         elementText(b) + ") -> " + elementText(acc);
}

/// What a sum is kept in where nobody says.
static DType sumOf(DType ab) { return ab.is_integer() ? i32 : ab == f64 ? f64 : f32; }

MmaOp MFMA(int m, int n, int k, DType a, DType b, DType acc, Loc loc) {
  return mmaOnTarget("!fly_rocdl.cdna3.mfma<" + signature(m, n, k, a, b, acc) + ">", loc);
}
MmaOp MFMA(int m, int n, int k, DType ab, DType acc, Loc loc) {
  return MFMA(m, n, k, ab, ab, acc ? acc : sumOf(ab), loc);
}
MmaOp MFMAScale(int m, int n, int k, DType a, DType b, DType acc, int opsel_a, int opsel_b,
                Loc loc) {
  return mmaOnTarget("!fly_rocdl.cdna4.mfma_scale<" + signature(m, n, k, a, b, acc) +
                         ", opselA = " + number(opsel_a) + ", opselB = " + number(opsel_b) + ">",
                     loc);
}
MmaOp WMMA(int m, int n, int k, DType a, DType b, DType acc, const WmmaOptions &o, Loc loc) {
  if (o.arch.empty() && !builder::Tracer::current())
    throw TraceError("WMMA outside of a kernel needs a target, whose form it has: "
                     "WmmaOptions{.arch = \"gfx1100\"}",
                     loc);
  const Target target =
      o.arch.empty() ? builder::Tracer::current()->targetWith(Feature::wmma, "WMMA", loc)
                     : Target::parse(o.arch);
  if (!target.has(Feature::wmma))
    throw TraceError("there is no WMMA on " + target.name() + "; " +
                         detail::processorsWith(Feature::wmma) + " have it",
                     loc);
  const char *family = target.family() == Family::rdna3   ? "gfx11"
                       : target.family() == Family::rdna4 ? "gfx120x"
                                                          : "gfx1250";
  auto isSigned = [](std::optional<bool> given, DType type) {
    return given.value_or(type.is_integer() && type.is_signed());
  };
  return mmaOnTarget(
      std::string("!fly_rocdl.") + family + ".wmma<" + signature(m, n, k, a, b, acc) +
          ", signA = " + truth(isSigned(o.sign_a, a)) +
          ", signB = " + truth(isSigned(o.sign_b, b)) + ", clamp = " + truth(o.clamp) + ">",
      loc);
}
MmaOp WMMA(int m, int n, int k, DType ab, DType acc, const WmmaOptions &o, Loc loc) {
  return WMMA(m, n, k, ab, ab, acc ? acc : sumOf(ab), o, loc);
}
MmaOp WMMAScale(int m, int n, int k, DType a, DType b, DType acc, int block_size, Loc loc) {
  return mmaOnTarget("!fly_rocdl.gfx1250.wmma_scale<" + signature(m, n, k, a, b, acc) +
                         ", opselA = 0, opselB = 0, modC = 0, reuseA = false, reuseB = false, "
                         "blockSize = " +
                         number(block_size) + ">",
                     loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
