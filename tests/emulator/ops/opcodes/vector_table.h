// Tables of vector operations. Each line is an operation and its reference on bits; the table's
// runner tries every encoding and every modifier that the assembler accepts for the operation.
#pragma once

#include "numbers.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace flyemu::test {

/// What a reference may ask of its surroundings.
struct Env {
  std::string target;
  bool gfx9 = true, gfx12 = false, gfx950 = false;
  bool ieee = false, dx10 = true;
  int round32 = kNearest, round64 = kNearest; ///< the second is for halves and doubles too
  unsigned denorm32 = 3, denorm64 = 3;        ///< 1: inputs kept, 2: results kept
  bool clamp = false;                         ///< the instruction's bit, for integer results
  unsigned opsel = 0;
  uint64_t old = 0; ///< the destination before

  int rounding(Format f) const { return f.exponent == 8 ? round32 : round64; }
  bool flushIn(Format f) const { return !((f.exponent == 8 ? denorm32 : denorm64) & 1); }
  bool flushOut(Format f) const { return !((f.exponent == 8 ? denorm32 : denorm64) & 2); }
};
extern Env env;

/// Operand and result kinds of a signature "result:sources":
///   f h d  floats of 32, 16 and 64 bits      u U s  integers of 32, 64 and 16 bits
///   w      32 bits where a float's sign is no sign (packed values)
///   m      the lane's bit of a mask          x 128 bits (as four dwords, by a reference of its
///   own)
using Reference = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c);

struct VectorOp {
  const char *name; ///< several, separated by spaces, if they mean the same
  const char *signature;
  Reference reference;
  enum Flag : unsigned {
    kAccumulate = 1,  ///< the destination is the last source
    kConstantB = 2,   ///< a literal as the second source (fmamk)
    kConstantC = 4,   ///< a literal as the third (fmaak)
    kKeepsOld = 8,    ///< the reference merges with Env::old itself
    kNoFloatOut = 16, ///< a float result that no modifier and no mode touches
    kApproximate = 32 ///< within an ulp (or 2^-20 absolutely for sines) of the reference
  };
  unsigned flags = 0;
};

/// Runs a table on all targets under several modes; fails the running test for each operation that
/// gives something else than its reference anywhere.
void runVectorTable(const std::vector<VectorOp> &table);
/// The operations that the tables compare within an ulp, as far as the tests that ran have them.
std::set<std::string> &nearInTables();

/// Bits that an operand of the kind gets: the edges of its type first.
const std::vector<uint64_t> &edgesOf(char kind);
unsigned widthOf(char kind);
bool isFloatKind(char kind);
Format formatOf(char kind);

// Arithmetic of references under `env`.
inline uint64_t flushed(Format f, uint64_t x) {
  return env.flushIn(f) && isDenormal(f, x) ? x & (uint64_t(1) << (width(f) - 1)) : x;
}
inline Quad in(Format f, uint64_t x) { return valueOf(f, flushed(f, x)); }
/// A result that is one of the operands' bits.
inline uint64_t passed(Format f, uint64_t x) {
  return env.flushOut(f) && isDenormal(f, x) ? x & (uint64_t(1) << (width(f) - 1)) : x;
}
/// A result that is rounded. Whether what rounds up to the least normal number is flushed is not
/// published: of halves it is not, of others it is.
inline uint64_t out(Format f, Quad x) {
  if (f.exponent == 5)
    return passed(f, roundTo(f, x, env.rounding(f)));
  return roundTo(f, x, env.rounding(f), env.flushOut(f));
}

} // namespace flyemu::test
