// The cache bits of AMD's instructions, by target.
#include <flydsl/rocdl/cache.h>

#include "builder/rocdl/cache.h"
#include "builder/trace/facade.h"
#include "target/processors.h"

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {
namespace {

using detail::FamilySet;

/// A name of the assembly and its place in the operand, as LLVM's SIDefines.h has them (namespace
/// CPol). `field` holds the bits that belong together: two values of one field exclude each other.
struct CacheBitRow {
  CacheBit bit;
  const char *name;
  FamilySet families;
  int value, field;
};

constexpr FamilySet kGfx90aAndRdna3 = {Family::cdna2, Family::rdna3};
constexpr FamilySet kGfx94 = {Family::cdna3, Family::cdna4};
constexpr FamilySet kGfx12 = {Family::rdna4, Family::gfx1250};

constexpr CacheBitRow kCacheBits[] = {
    {CacheBit::glc, "glc", kGfx90aAndRdna3, 1, 1},
    {CacheBit::slc, "slc", kGfx90aAndRdna3, 2, 2},
    {CacheBit::dlc, "dlc", {Family::rdna3}, 4, 4},
    {CacheBit::sc0, "sc0", kGfx94, 1, 1},
    {CacheBit::nt, "nt", kGfx94, 2, 2},
    {CacheBit::sc1, "sc1", kGfx94, 16, 16},
    {CacheBit::th_nt, "th_nt", kGfx12, 1, 7},
    {CacheBit::th_ht, "th_ht", kGfx12, 2, 7},
    {CacheBit::th_nt_rt, "th_nt_rt", kGfx12, 4, 7},
    {CacheBit::th_rt_nt, "th_rt_nt", kGfx12, 5, 7},
    {CacheBit::th_nt_ht, "th_nt_ht", kGfx12, 6, 7},
    {CacheBit::scope_se, "scope_se", kGfx12, 8, 24},
    {CacheBit::scope_dev, "scope_dev", kGfx12, 16, 24},
    {CacheBit::scope_sys, "scope_sys", kGfx12, 24, 24},
};

/// The bits of an access that is not temporal: those that LLVM gives to a load or store with
/// !nontemporal ("Memory Model" of LLVM's AMDGPU guide, rows "nontemporal").
struct NonTemporalRow {
  FamilySet families;
  int value;
};
constexpr NonTemporalRow kNonTemporal[] = {
    {{Family::cdna2}, 1 | 2}, // glc slc
    {kGfx94, 2},              // nt
    {{Family::rdna3}, 2 | 4}, // slc dlc
    {kGfx12, 1},              // th_nt
};

/// What raw operands may have besides named bits: swizzled buffers (bit 3 before gfx12, bit 6
/// since), and volatile, which LLVM takes out again (bit 31).
constexpr int kSwizzled = 8, kSwizzledGfx12 = 64;
constexpr std::uint32_t kVolatile = 0x80000000u;

std::string bitsOf(const Target &target) {
  std::string text;
  for (const CacheBitRow &row : kCacheBits)
    if (row.families.has(target.family()))
      text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

Target targetOf(const std::string &named, Loc loc) {
  if (!named.empty())
    return Target::parse(named);
  if (builder::Tracer *running = detail::running())
    return running->kernel.targetFor("a cache policy of a buffer", loc);
  throw TraceError("which bits a cache policy has depends on the target: outside of a kernel, say "
                   "which, as in CacheControl(fx::CachePolicy::non_temporal).on(\"gfx942\")",
                   loc);
}

} // namespace

FLYDSL_API CacheControl operator|(CacheControl a, const CacheControl &b) {
  a.bits_ |= b.bits_;
  if (b.policy_ != CachePolicy::cached)
    a.policy_ = b.policy_;
  if (a.target_.empty())
    a.target_ = b.target_;
  return a;
}

int CacheControl::auxiliary(Loc loc) const {
  if (policy_ == CachePolicy::cached && !bits_)
    return 0;
  const Target target = targetOf(target_, loc);
  int value = 0, fields = 0;
  auto add = [&](const char *name, int bits, int field) {
    if (fields & field)
      throw TraceError(std::string("the cache bit ") + name +
                           " stands in the place of another one; take one of them",
                       loc);
    value |= bits;
    fields |= field;
  };
  if (policy_ == CachePolicy::non_temporal)
    for (const NonTemporalRow &row : kNonTemporal)
      if (row.families.has(target.family()))
        add("non_temporal", row.value, kGfx12.has(target.family()) ? 7 : row.value);
  for (const CacheBitRow &row : kCacheBits) {
    if (!(bits_ >> static_cast<unsigned>(row.bit) & 1))
      continue;
    if (!row.families.has(target.family()))
      throw TraceError(std::string("there is no cache bit ") + row.name + " on " + target.name() +
                           ", which has " + bitsOf(target) +
                           "; fx::CachePolicy::non_temporal is on every target",
                       loc);
    add(row.name, row.value, row.field);
  }
  return value;
}

} // namespace rocdl

FLYDSL_NAMESPACE_END

namespace flydsl::builder {

void expectCacheBits(const Tracer *running, int auxiliary, Loc loc) {
  if (!running || !running->kernel.target || !auxiliary)
    return;
  const Target &target = *running->kernel.target;
  const bool gfx12 = rocdl::kGfx12.has(target.family());
  std::uint32_t known = rocdl::kVolatile | (gfx12 ? rocdl::kSwizzledGfx12 : rocdl::kSwizzled);
  for (const rocdl::CacheBitRow &row : rocdl::kCacheBits)
    if (row.families.has(target.family()))
      known |= static_cast<std::uint32_t>(row.field);
  if (const std::uint32_t unknown = static_cast<std::uint32_t>(auxiliary) & ~known)
    throw TraceError("the cache bits " + std::to_string(auxiliary) + " have " +
                         std::to_string(unknown) + ", which is no bit of " + target.name() +
                         "; it has " + rocdl::bitsOf(target) + " (fx::rocdl::CacheBit)",
                     loc);
}

} // namespace flydsl::builder
