// Every matrix instruction through the decoder: D = A B + C of small integers, which every format
// holds exactly. Operands are laid out as sources outside of the project say.
#include "layouts.h"
#include "machine.h"
#include "numbers.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace flyemu::test {

namespace {
using u64 = uint64_t;

struct Element {
  const char *name;
  unsigned bits;
  int exponent, mantissa, bias; ///< of floats
};
constexpr Element kElements[] = {
    {"f64", 64, 11, 52, 1023}, {"f32", 32, 8, 23, 127}, {"xf32", 32, 8, 23, 127},
    {"f16", 16, 5, 10, 15},    {"bf16", 16, 8, 7, 127}, {"fp8", 8, 4, 3, 7},
    {"bf8", 8, 5, 2, 15},      {"fp6", 6, 2, 3, 1},     {"bf6", 6, 3, 2, 3},
    {"fp4", 4, 2, 1, 1},       {"i8", 8, 0, 0, 0},      {"iu8", 8, 0, 0, 0},
    {"iu4", 4, 0, 0, 0},       {"i32", 32, 0, 0, 0}};
const Element &elementOf(const std::string &name) {
  for (const Element &e : kElements)
    if (e.name == name)
      return e;
  FAIL("no element type " << name);
  return kElements[0];
}
/// The code of -2, -1, 0, 1 or 2 in any format; of other integers in the wide ones.
u64 codeOf(const Element &e, int v, bool fnuz) {
  const u64 mask = e.bits == 64 ? ~u64(0) : (u64(1) << e.bits) - 1;
  if (!e.exponent)
    return u64(v) & mask;
  if (e.bits >= 16)
    return roundTo({e.exponent, e.mantissa}, v);
  if (v == 0)
    return 0;
  const int bias = e.bias + (fnuz && e.bits == 8);
  const u64 magnitude = u64(bias + (std::abs(v) == 2)) << e.mantissa;
  return magnitude | (v < 0 ? u64(1) << (e.bits - 1) : 0);
}

struct Place {
  unsigned lane, bit;
};
void put(Machine &m, unsigned r, Place p, unsigned bits, u64 x) {
  for (unsigned b = 0; b < bits; ++b) {
    uint32_t &word = m.row(r + (p.bit + b) / 32)[p.lane];
    const unsigned at = (p.bit + b) % 32;
    word = (word & ~(1u << at)) | static_cast<uint32_t>(x >> b & 1) << at;
  }
}
u64 get(Machine &m, unsigned r, Place p, unsigned bits) {
  u64 x = 0;
  for (unsigned b = 0; b < bits; ++b)
    x |= u64(m.row(r + (p.bit + b) / 32)[p.lane] >> (p.bit + b) % 32 & 1) << b;
  return x;
}

/// An instruction by its name, with the layouts that matrix_layouts has for it.
struct Shape {
  std::string mnemonic, acc, a, b;
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  bool sparse = false;
  matrix_layouts::Found layout{};
  unsigned storedK() const { return sparse ? k / 2 : k; }
};

/// The layouts of an instruction; the test fails by its name where none are written down.
matrix_layouts::Found layoutOf(const std::string &target, const std::string &mnemonic,
                               unsigned bitsA, unsigned bitsB) {
  try {
    return matrix_layouts::find(target, mnemonic, bitsA, bitsB);
  } catch (const std::out_of_range &missing) {
    FAIL(missing.what());
    throw;
  }
}

/// How many products an instruction computes: one more than the highest number of a block.
unsigned blocksOf(const matrix_layouts::Operand &d) {
  return d.at(d.lanes() - 1, d.items() - 1).block + 1;
}

/// From a name as the assembler has it: from gfx942 on "v_mfma_f32_32x32x4_2b_bf16", before
/// "v_mfma_f32_32x32x4bf16_1k", which does not say how many blocks there are. `a` and `b` are given
/// for f8f6f4.
Shape parse(const std::string &mnemonic, const Machine &m, const std::string &a = "",
            const std::string &b = "") {
  Shape s;
  s.mnemonic = mnemonic;
  std::vector<std::string> parts;
  std::istringstream in(mnemonic);
  for (std::string p; std::getline(in, p, '_');)
    if (p != "scale")
      parts.push_back(p);
  s.sparse = parts[1] == "smfmac" || parts[1] == "swmmac";
  s.acc = parts[2];
  INFO(m.target << ": " << mnemonic);
  REQUIRE(parts.size() > 3);
  int read = 0;
  REQUIRE(std::sscanf(parts[3].c_str(), "%ux%ux%u%n", &s.m, &s.n, &s.k, &read) == 3);
  std::vector<std::string> elements(parts.begin() + 4, parts.end());
  if (const std::string behind = parts[3].substr(static_cast<size_t>(read)); !behind.empty())
    elements = {behind};
  unsigned named = 0;
  if (!elements.empty() && elements[0].back() == 'b' && std::isdigit(elements[0][0])) {
    named = static_cast<unsigned>(std::stoul(elements[0]));
    elements.erase(elements.begin());
  }
  REQUIRE(!elements.empty());
  s.a = elements[0];
  s.b = elements.size() > 1 ? elements[1] : s.a;
  if (!a.empty()) {
    s.a = a;
    s.b = b;
  }
  s.layout = layoutOf(m.target, mnemonic, a.empty() ? 0 : elementOf(a).bits,
                      b.empty() ? 0 : elementOf(b).bits);
  s.blocks = blocksOf(*s.layout.d);
  if (named)
    REQUIRE(s.blocks == named);
  return s;
}
std::string registers(unsigned first, unsigned count) {
  return count == 1 ? "v" + std::to_string(first)
                    : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}
constexpr unsigned kA = 8, kB = 40, kD = 80, kIndex = 4;

struct Run {
  Shape s;
  std::string suffix; ///< formats, index sets
  unsigned key = 0;   ///< the set of indices
  size_t id = 0;
};
unsigned registersOf(const matrix_layouts::Operand &o) { return (o.items() * o.bits + 31) / 32; }

Run make(Machine &m, const Shape &s, const std::string &suffix, unsigned key) {
  Run r{s, suffix, key};
  const std::string d = registers(kD, registersOf(*s.layout.d));
  r.id = m.add(s.mnemonic + " " + d + ", " + registers(kA, registersOf(*s.layout.a)) + ", " +
               registers(kB, registersOf(*s.layout.b)) + ", " +
               (s.sparse ? registers(kIndex, 1) : d) + suffix);
  return r;
}

/// The scales of an instruction that has them: the power of two of a row's or column's block of 32
/// k, and which byte of its register holds it.
struct Scales {
  int (*a)(unsigned row, unsigned block) = nullptr;
  int (*b)(unsigned column, unsigned block) = nullptr;
  unsigned byteA = 0, byteB = 0;
};

/// Fills the operands, runs, compares.
void check(Machine &m, const Run &r, const Scales &scales = {}) {
  const Shape &s = r.s;
  INFO(m.target << ": " << m.text(r.id));
  REQUIRE(m.accepted(r.id));
  const Element &a = elementOf(s.a), &b = elementOf(s.b), &acc = elementOf(s.acc);
  const matrix_layouts::Operand &inA = *s.layout.a, &inB = *s.layout.b, &out = *s.layout.d;
  const bool fnuz = m.target == "gfx942", isUnsigned = s.a[0] == 'i' && s.a[1] == 'u';
  const unsigned stored = s.storedK();
  for (unsigned row = 2; row < 128; ++row)
    std::fill_n(m.row(row), 64, 0u);
  u64 seed = 7 + s.m + 3 * s.k;
  auto random = [&](int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>(seed >> 33) % n;
  };
  auto fill = [&](std::vector<int> &values, unsigned count) {
    values.resize(count);
    for (int &v : values)
      v = isUnsigned ? random(3) : random(5) - 2;
  };
  // A as it is stored, which of four k each stored element of a sparse row is, B, and C.
  std::vector<int> storedA, denseA(s.blocks * s.m * s.k), denseB, c(s.blocks * s.m * s.n);
  std::vector<unsigned> index(s.blocks * s.m * stored);
  fill(storedA, s.blocks * s.m * stored);
  fill(denseB, s.blocks * s.n * s.k);
  for (int &v : c)
    v = random(21) - 10;
  for (unsigned row = 0; row < s.blocks * s.m; ++row)
    for (unsigned k = 0; k < stored; ++k) {
      unsigned dense = k;
      if (s.sparse) { // the first index of a pair is below the second
        index[row * stored + k] = k % 2 ? 2 + unsigned(random(2)) : unsigned(random(2));
        dense = k / 2 * 4 + index[row * stored + k];
      }
      denseA[row * s.k + dense] = storedA[row * stored + k];
    }
  auto each = [](const matrix_layouts::Operand &o, auto &&visit) {
    for (unsigned lane = 0; lane < o.lanes(); ++lane)
      for (unsigned item = 0; item < o.items(); ++item)
        visit(Place{lane, item * o.bits}, item, o.at(lane, item));
  };
  each(inA, [&](Place p, unsigned item, matrix_layouts::Step at) {
    const size_t element = (at.block * s.m + at.i) * stored + at.k;
    put(m, kA, p, a.bits, codeOf(a, storedA[element], fnuz));
    if (s.sparse)
      put(m, kIndex, {p.lane, matrix_layouts::indexBit(r.key, item, inA.items())}, 2,
          index[element]);
  });
  each(inB, [&](Place p, unsigned, matrix_layouts::Step at) {
    put(m, kB, p, b.bits, codeOf(b, denseB[(at.block * s.n + at.j) * s.k + at.k], fnuz));
  });
  each(out, [&](Place p, unsigned, matrix_layouts::Step at) {
    put(m, kD, p, acc.bits, codeOf(acc, c[(at.block * s.m + at.i) * s.n + at.j], false));
  });
  if (scales.a) {
    // The other bytes of the registers hold scales that would be seen.
    const matrix_layouts::Operand lanesA{8, s.layout.row->scaleA, {}},
        lanesB{8, s.layout.row->scaleB, {}};
    REQUIRE(lanesA.lanes() == 64);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const matrix_layouts::Step atA = lanesA.at(lane, 0), atB = lanesB.at(lane, 0);
      const unsigned codeA = 127u + unsigned(scales.a(atA.i, atA.k / 32)),
                     codeB = 127u + unsigned(scales.b(atB.j, atB.k / 32));
      m.row(2)[lane] = (0x90909090u & ~(255u << 8 * scales.byteA)) | codeA << 8 * scales.byteA;
      m.row(3)[lane] = (0x90909090u & ~(255u << 8 * scales.byteB)) | codeB << 8 * scales.byteB;
    }
  }
  m.setMode(0x1f0);
  m.setExec(~u64(0));
  CHECK(m.run(r.id) == "");
  std::string wrong;
  each(out, [&](Place p, unsigned, matrix_layouts::Step at) {
    const unsigned row = at.block * s.m + at.i, column = at.block * s.n + at.j;
    double sum = c[row * s.n + at.j];
    for (unsigned k = 0; k < s.k; ++k) {
      double product = denseA[row * s.k + k] * denseB[column * s.k + k];
      if (scales.a)
        product = std::ldexp(product, scales.a(at.i, k / 32) + scales.b(at.j, k / 32));
      sum += product;
    }
    const u64 got = get(m, kD, p, acc.bits);
    const u64 want =
        acc.exponent ? roundTo({acc.exponent, acc.mantissa}, sum) : u64(int64_t(sum)) & 0xffffffff;
    if (got != want && wrong.empty()) {
      std::ostringstream o;
      o << "block " << at.block << " (" << at.i << ", " << at.j << "): " << std::hex << got
        << ", want " << want;
      wrong = o.str();
    }
  });
  CHECK(wrong == "");
}

/// Every instruction of the target that is written down, `of` those that it says.
template <class Of> std::vector<std::string> namesOf(const Machine &m, Of of) {
  std::vector<std::string> names;
  for (const matrix_layouts::Instruction &row : matrix_layouts::instructions())
    for (std::string_view name : row.names)
      if (matrix_layouts::has(row, m.target) && of(std::string(name)))
        names.emplace_back(name);
  return names;
}
bool isSparse(const std::string &name) { return name.find("mac_") != name.npos; }
bool isMixed(const std::string &name) { return name.find("f8f6f4") != name.npos; }
} // namespace

TEST_CASE("opcodes: dense matrix products match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<Run> runs;
    for (const std::string &name :
         namesOf(m, [](const std::string &n) { return !isSparse(n) && !isMixed(n); }))
      runs.push_back(make(m, parse(name, m), "", 0));
    m.build();
    for (const Run &r : runs)
      check(m, r);
    CHECK(runs.size() >= (m.gfx1250 ? 5u : m.gfx11 ? 6u : m.gfx12 ? 11u : m.gfx940 ? 32u : 27u));
  }
}

TEST_CASE("opcodes: sparse matrix products, with each set of indices match the reference") {
  for (const char *target : {"gfx942", "gfx950", "gfx1201"}) {
    Machine m(target);
    std::vector<Run> runs;
    for (const std::string &name : namesOf(m, isSparse)) {
      const Shape s = parse(name, m);
      const unsigned setBits = 2 * s.layout.a->items();
      for (unsigned key = 0; key < std::max(1u, 32 / setBits); ++key)
        runs.push_back(make(m, s,
                            key == 0 ? std::string()
                                     : (m.gfx9 ? " abid:" : " index_key:") + std::to_string(key),
                            key));
    }
    m.build();
    for (const Run &r : runs)
      check(m, r);
    CHECK(runs.size() >= (m.gfx950 ? 50u : m.gfx12 ? 21u : 36u));
  }
}

TEST_CASE("opcodes: gfx950: products of formats chosen by the instruction, plain and scaled match "
          "the reference") {
  Machine m("gfx950");
  static const char *const kFormats[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
  std::vector<std::pair<Run, Scales>> runs;
  auto bit = [](unsigned number, unsigned which) { return std::to_string(number >> which & 1); };
  for (const char *shape : {"16x16x128", "32x32x64"})
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = 0; b < 5; ++b)
        for (bool scaled : {false, true}) {
          const std::string name =
              std::string(scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape + "_f8f6f4";
          Scales scales;
          std::string suffix;
          if (scaled) {
            scales = {
                [](unsigned row, unsigned block) { return int(row + block) % 3 - 1; },
                [](unsigned column, unsigned block) { return int(column + 2 * block) % 4 - 1; },
                (a + b) % 4, (a + 2 * b + 1) % 4};
            // LLVM's tests of llvm.amdgcn.mfma.scale.*: the low bit of a byte's number is in
            // op_sel, the high one in op_sel_hi.
            suffix = ", v2, v3 op_sel:[" + bit(scales.byteA, 0) + "," + bit(scales.byteB, 0) +
                     ",0] op_sel_hi:[" + bit(scales.byteA, 1) + "," + bit(scales.byteB, 1) + ",0]";
          }
          suffix += " cbsz:" + std::to_string(a) + " blgp:" + std::to_string(b);
          runs.emplace_back(make(m, parse(name, m, kFormats[a], kFormats[b]), suffix, 0), scales);
        }
  m.build();
  for (auto &[r, scales] : runs)
    check(m, r, scales);
}

} // namespace flyemu::test
