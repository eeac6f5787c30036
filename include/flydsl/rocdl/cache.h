// How AMD's memory instructions use the caches.
#pragma once

#include <flydsl/kernel/atom.h>

#include <cstdint>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// A bit, or a value of a field, by which an instruction says how caches treat its access. The
/// names are those of AMD's assembly; each generation has names of its own.
enum class CacheBit : std::uint8_t {
  glc,       ///< gfx90a, RDNA 3: past the cache nearest to the lanes
  slc,       ///< gfx90a, RDNA 3: the data stream through
  dlc,       ///< RDNA 3: past the cache of a group of workgroups
  sc0,       ///< gfx942, gfx950: with sc1, the scope: wave, group (sc0), agent (sc1), system (both)
  sc1,       ///< gfx942, gfx950
  nt,        ///< gfx942, gfx950: not temporal, the data stream through
  th_nt,     ///< RDNA 4, gfx1250: not temporal
  th_ht,     ///< RDNA 4, gfx1250: highly temporal, kept for as long as possible
  th_nt_rt,  ///< RDNA 4, gfx1250: not temporal near the lanes, regular far from them
  th_rt_nt,  ///< RDNA 4, gfx1250: regular near the lanes, not temporal far from them
  th_nt_ht,  ///< RDNA 4, gfx1250: not temporal near the lanes, highly temporal far from them
  scope_se,  ///< RDNA 4, gfx1250: coherent among the workgroups of a shader engine
  scope_dev, ///< RDNA 4, gfx1250: coherent on the device
  scope_sys, ///< RDNA 4, gfx1250: coherent on the whole system
};

/// What a buffer instruction says to the caches: a policy, which every target has in its own bits,
/// or bits by their names, as in `CacheBit::sc0 | CacheBit::sc1`. An instruction on a target
/// without such a bit is a TraceError.
class FLYDSL_API CacheControl {
public:
  CacheControl() = default;
  CacheControl(CachePolicy policy) : policy_(policy) {}
  CacheControl(CacheBit bit) : bits_(1u << static_cast<unsigned>(bit)) {}
  friend CacheControl operator|(CacheControl a, const CacheControl &b);

  /// The same for a target ("gfx942"), for atoms that are made outside of a kernel. Inside, the
  /// target is the one that is traced for.
  CacheControl on(std::string_view target) const {
    CacheControl named = *this;
    named.target_ = target;
    return named;
  }

  /// The operand that LLVM's intrinsics call "auxiliary data" or
  /// "cache policy" (SIDefines.h, CPol).
  int auxiliary(Loc loc = Loc::current()) const;

private:
  CachePolicy policy_ = CachePolicy::cached;
  std::uint32_t bits_ = 0;
  std::string target_;
};

/// Both together.
inline CacheControl operator|(CacheBit a, CacheBit b) { return CacheControl(a) | CacheControl(b); }

} // namespace rocdl
FLYDSL_NAMESPACE_END
