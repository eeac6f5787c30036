// Matrix instructions through the decoder, each of them: D = A B + C of small integers, which every
// format holds exactly, with operands laid out as AMD's matrix instruction calculator prints it.
#include "machine.h"
#include "numbers.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

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

struct Shape {
  std::string mnemonic, acc, a, b;
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  bool sparse = false, cdna = true, rdna3 = false;
  unsigned lanes() const { return cdna ? 64 : 32; }

  /// The k-th stored element of row (or column) `row` of an input with `stored` elements a row.
  Place input(unsigned block, unsigned row, unsigned k0, unsigned rows, unsigned stored,
              unsigned bits) const {
    if (rdna3) // all of k, in both halves of the wave
      return {row, k0 * bits};
    if (!cdna) {
      const unsigned perLane = stored / 2;
      const unsigned chunk = bits == 16 ? std::max(4u, perLane / 2) : perLane;
      return {row + 16 * (k0 / chunk % 2), (k0 / chunk / 2 * chunk + k0 % chunk) * bits};
    }
    const unsigned perLane = rows * stored * blocks / 64;
    return {row + rows * (block + blocks * (k0 / perLane)), k0 % perLane * bits};
  }
  Place output(unsigned block, unsigned row, unsigned column, unsigned bits) const {
    if (rdna3)
      return {column + 16 * (row % 2), row / 2 * 32};
    if (!cdna)
      return {column + 16 * (row / 8), row % 8 * bits};
    if (bits == 64)
      return {column + n * (block + blocks * (row % 4)), row / 4 * 64};
    if (n == 4)
      return {column + 4 * block, row * 32};
    if (n == 32) // row = 8 (r / 4) + 4 (lane / 32) + r % 4
      return {column + 32 * (row / 4 % 2), (row % 4 + row / 8 * 4 + 16 * block) * 32};
    return {column + 16 * (row / 4), (row % 4 + 4 * block) * 32};
  }
  unsigned inputRegisters(unsigned rows, unsigned stored, unsigned bits) const {
    return (rows * stored * blocks * (rdna3 ? 2 : 1) * bits / lanes() + 31) / 32;
  }
};

/// From a name as the assembler has it.
Shape parse(const std::string &mnemonic, const Machine &m) {
  Shape s;
  s.mnemonic = mnemonic;
  s.cdna = m.gfx9;
  s.rdna3 = m.gfx11;
  std::vector<std::string> parts;
  std::istringstream in(mnemonic);
  for (std::string p; std::getline(in, p, '_');)
    parts.push_back(p);
  s.sparse = parts[1] == "smfmac" || parts[1] == "swmmac";
  s.acc = parts[2];
  REQUIRE(std::sscanf(parts[3].c_str(), "%ux%ux%u", &s.m, &s.n, &s.k) == 3);
  size_t at = 4;
  if (parts[at].back() == 'b' && std::isdigit(parts[at][0]))
    s.blocks = static_cast<unsigned>(std::stoul(parts[at++]));
  s.a = s.b = parts[at];
  if (at + 1 < parts.size())
    s.b = parts[at + 1];
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
  unsigned regsA = 0, regsB = 0, regsD = 0;
};
Run make(Machine &m, const Shape &s, const std::string &suffix, unsigned key) {
  Run r{s, suffix, key};
  const unsigned stored = s.sparse ? s.k / 2 : s.k, accBits = elementOf(s.acc).bits;
  r.regsA = s.inputRegisters(s.m, stored, elementOf(s.a).bits);
  r.regsB = s.inputRegisters(s.n, s.k, elementOf(s.b).bits);
  r.regsD = s.m * s.n * s.blocks / s.lanes() * (s.rdna3 ? 32 : accBits) / 32;
  const std::string d = registers(kD, r.regsD);
  r.id = m.add(s.mnemonic + " " + d + ", " + registers(kA, r.regsA) + ", " +
               registers(kB, r.regsB) + ", " + (s.sparse ? registers(kIndex, 1) : d) + suffix);
  return r;
}

/// Fills the operands, runs, compares; `scale` gives the power of two of a row's or column's block
/// of 32 k, where the instruction has scales.
void check(Machine &m, const Run &r, int (*scaleA)(unsigned, unsigned) = nullptr,
           int (*scaleB)(unsigned, unsigned) = nullptr) {
  const Shape &s = r.s;
  INFO(m.target << ": " << m.text(r.id));
  REQUIRE(m.accepted(r.id));
  const Element &a = elementOf(s.a), &b = elementOf(s.b), &acc = elementOf(s.acc);
  const bool fnuz = m.target == "gfx942", isUnsigned = s.a[0] == 'i' && s.a[1] == 'u';
  const unsigned stored = s.sparse ? s.k / 2 : s.k;
  std::vector<int> denseA(s.blocks * s.m * s.k), denseB(s.blocks * s.n * s.k),
      c(s.blocks * s.m * s.n);
  for (unsigned row = kIndex; row < 128; ++row)
    std::fill_n(m.row(row), 64, 0u);
  u64 seed = 7 + s.m + 3 * s.k;
  auto random = [&](int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>(seed >> 33) % n;
  };
  auto value = [&] { return isUnsigned ? random(3) : random(5) - 2; };
  for (unsigned block = 0; block < s.blocks; ++block) {
    for (unsigned row = 0; row < s.m; ++row)
      for (unsigned k = 0; k < stored; ++k) {
        const int v = value();
        const Place p = s.input(block, row, k, s.m, stored, a.bits);
        put(m, kA, p, a.bits, codeOf(a, v, fnuz));
        if (s.rdna3)
          put(m, kA, {p.lane + 16, p.bit}, a.bits, codeOf(a, v, fnuz));
        unsigned dense = k;
        if (s.sparse) { // two of four: the first index is below the second
          const unsigned perLane = s.m * stored / s.lanes(), inLane = p.bit / a.bits;
          const unsigned index = k % 2 ? 2 + unsigned(random(2)) : unsigned(random(2));
          put(m, kIndex, {p.lane, (r.key * 2 * perLane + 2 * inLane) % 32}, 2, index);
          dense = k / 2 * 4 + index;
        }
        denseA[(block * s.m + row) * s.k + dense] = v;
      }
    for (unsigned column = 0; column < s.n; ++column)
      for (unsigned k = 0; k < s.k; ++k) {
        const int v = value();
        const Place p = s.input(block, column, k, s.n, s.k, b.bits);
        put(m, kB, p, b.bits, codeOf(b, v, fnuz));
        if (s.rdna3)
          put(m, kB, {p.lane + 16, p.bit}, b.bits, codeOf(b, v, fnuz));
        denseB[(block * s.n + column) * s.k + k] = v;
      }
    for (unsigned row = 0; row < s.m; ++row)
      for (unsigned column = 0; column < s.n; ++column) {
        const int v = random(21) - 10;
        put(m, kD, s.output(block, row, column, acc.bits), acc.bits, codeOf(acc, v, false));
        c[(block * s.m + row) * s.n + column] = v;
      }
  }
  if (scaleA)
    for (unsigned lane = 0; lane < 64; ++lane) {
      m.row(2)[lane] = 127u + unsigned(scaleA(lane % s.m, lane / s.m));
      m.row(3)[lane] = 127u + unsigned(scaleB(lane % s.n, lane / s.n));
    }
  m.setMode(0x1f0);
  m.setExec(~u64(0));
  CHECK(m.run(r.id) == "");
  std::string wrong;
  for (unsigned block = 0; block < s.blocks && wrong.empty(); ++block)
    for (unsigned row = 0; row < s.m; ++row)
      for (unsigned column = 0; column < s.n; ++column) {
        double sum = c[(block * s.m + row) * s.n + column];
        for (unsigned k = 0; k < s.k; ++k) {
          double p =
              denseA[(block * s.m + row) * s.k + k] * denseB[(block * s.n + column) * s.k + k];
          if (scaleA)
            p = std::ldexp(p, scaleA(row, k / 32) + scaleB(column, k / 32));
          sum += p;
        }
        const u64 got = get(m, kD, s.output(block, row, column, acc.bits), acc.bits);
        const u64 want = acc.exponent ? roundTo({acc.exponent, acc.mantissa}, sum)
                                      : u64(int64_t(sum)) & 0xffffffff;
        if (got != want) {
          std::ostringstream o;
          o << "block " << block << " (" << row << ", " << column << "): " << std::hex << got
            << ", want " << want;
          wrong = o.str();
        }
      }
  CHECK(wrong == "");
}

/// Checks those that the target has; says how many.
unsigned checkAccepted(Machine &m, const std::vector<Run> &runs) {
  unsigned tried = 0;
  for (const Run &r : runs)
    if (m.accepted(r.id)) {
      check(m, r);
      ++tried;
    }
  return tried;
}
} // namespace

TEST_CASE("opcodes: dense matrix products") {
  std::vector<std::string> cdna;
  for (const char *t : {"f16", "bf16"})
    for (const char *shape :
         {"32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16", "16x16x32", "32x32x16"})
      cdna.push_back(std::string("v_mfma_f32_") + shape + "_" + t);
  for (const char *shape : {"32x32x1_2b", "16x16x1_4b", "4x4x1_16b", "32x32x2", "16x16x4"})
    cdna.push_back(std::string("v_mfma_f32_") + shape + "_f32");
  for (const char *shape :
       {"32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x16", "16x16x32", "16x16x64", "32x32x32"})
    cdna.push_back(std::string("v_mfma_i32_") + shape + "_i8");
  for (const char *a : {"fp8", "bf8"})
    for (const char *b : {"fp8", "bf8"})
      for (const char *shape : {"16x16x32", "32x32x16"})
        cdna.push_back(std::string("v_mfma_f32_") + shape + "_" + a + "_" + b);
  for (const char *name : {"v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32",
                           "v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"})
    cdna.push_back(name);
  std::vector<std::string> rdna = {
      "v_wmma_f32_16x16x16_f16",     "v_wmma_f32_16x16x16_bf16",    "v_wmma_f16_16x16x16_f16",
      "v_wmma_bf16_16x16x16_bf16",   "v_wmma_i32_16x16x16_iu8",     "v_wmma_i32_16x16x16_iu4",
      "v_wmma_i32_16x16x32_iu4",     "v_wmma_f32_16x16x16_fp8_fp8", "v_wmma_f32_16x16x16_fp8_bf8",
      "v_wmma_f32_16x16x16_bf8_fp8", "v_wmma_f32_16x16x16_bf8_bf8"};
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<Run> runs;
    for (const std::string &name : m.gfx9 ? cdna : rdna)
      runs.push_back(make(m, parse(name, m), "", 0));
    m.build();
    const unsigned tried = checkAccepted(m, runs);
    CHECK(tried >= (m.gfx11 ? 6u : m.gfx12 ? 11u : 32u));
  }
}

TEST_CASE("opcodes: sparse matrix products, with each set of indices") {
  std::vector<std::string> cdna, rdna;
  for (const char *t : {"f16", "bf16"}) {
    for (const char *shape : {"16x16x32", "32x32x16", "16x16x64", "32x32x32"})
      cdna.push_back(std::string("v_smfmac_f32_") + shape + "_" + t);
    rdna.push_back(std::string("v_swmmac_f32_16x16x32_") + t);
    rdna.push_back(std::string("v_swmmac_") + t + "_16x16x32_" + t);
  }
  for (const char *a : {"fp8", "bf8"})
    for (const char *b : {"fp8", "bf8"}) {
      for (const char *shape : {"16x16x64", "32x32x32", "16x16x128", "32x32x64"})
        cdna.push_back(std::string("v_smfmac_f32_") + shape + "_" + a + "_" + b);
      rdna.push_back(std::string("v_swmmac_f32_16x16x32_") + a + "_" + b);
    }
  for (const char *shape : {"16x16x64", "32x32x32", "16x16x128", "32x32x64"})
    cdna.push_back(std::string("v_smfmac_i32_") + shape + "_i8");
  for (const char *name :
       {"v_swmmac_i32_16x16x32_iu8", "v_swmmac_i32_16x16x32_iu4", "v_swmmac_i32_16x16x64_iu4"})
    rdna.push_back(name);
  for (const char *target : {"gfx942", "gfx950", "gfx1201"}) {
    Machine m(target);
    std::vector<Run> runs;
    for (const std::string &name : m.gfx9 ? cdna : rdna) {
      const Shape s = parse(name, m);
      const unsigned setBits = 2 * s.m * s.k / 2 / s.lanes();
      for (unsigned key = 0; key < std::max(1u, 32 / setBits); ++key)
        runs.push_back(make(m, s,
                            key == 0 ? std::string()
                                     : (m.gfx9 ? " abid:" : " index_key:") + std::to_string(key),
                            key));
    }
    m.build();
    const unsigned tried = checkAccepted(m, runs);
    CHECK(tried >= 19);
  }
}

TEST_CASE("opcodes: gfx950: products of formats chosen by the instruction, plain and scaled") {
  Machine m("gfx950");
  static const char *const kFormats[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
  std::vector<std::pair<Run, bool>> runs;
  for (const char *shape : {"16x16x128", "32x32x64"})
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = 0; b < 5; ++b)
        for (bool scaled : {false, true}) {
          Shape s = parse(std::string("v_mfma_f32_") + shape + "_fp8", m);
          s.mnemonic =
              std::string(scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape + "_f8f6f4";
          s.a = kFormats[a];
          s.b = kFormats[b];
          runs.emplace_back(make(m, s,
                                 std::string(scaled ? ", v2, v3 op_sel_hi:[0,0,0]" : "") +
                                     " cbsz:" + std::to_string(a) + " blgp:" + std::to_string(b),
                                 0),
                            scaled);
        }
  m.build();
  for (auto &[r, scaled] : runs) {
    if (scaled)
      check(
          m, r, [](unsigned row, unsigned part) { return int(row + part) % 3 - 1; },
          [](unsigned column, unsigned part) { return int(column + 2 * part) % 4 - 1; });
    else
      check(m, r);
  }
}

} // namespace flyemu::test
