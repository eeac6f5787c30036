#include "vector_table.h"

#include "machine.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>

namespace flyemu::test {

Env env;

namespace {
constexpr unsigned kSource[3] = {2, 4, 6}, kResult = 8, kScalar = 20;
constexpr uint64_t kExecs[2] = {0xfffffff3a5c3ff0full, 0x8000ffff7f10ffffull};
constexpr uint32_t kModes[] = {0x1f0, 0x1c0, 0x130, 0x1f5, 0x1fa, 0x1ff, 0x3f0, 0x000};
constexpr uint32_t kPoison[2] = {0xcdcdabab, 0x98765432};

/// A permutation of source lanes by DPP.
struct Permutation {
  const char *text;
  int (*from)(int lane, int lanes); ///< -1: none
  unsigned rows = 15, banks = 15;
  bool zero = false, inactive = false, eight = false;
};
int inRow(int lane, int n) { return n < 0 || n > 15 ? -1 : (lane & ~15) | n; }
const Permutation kPermutations[] = {
    {"row_shr:1 row_mask:0xf bank_mask:0xf", [](int l, int) { return inRow(l, l % 16 - 1); }},
    {"quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0x5", [](int l, int) { return l ^ 1; }, 10, 5},
    {"row_ror:3 row_mask:0xf bank_mask:0xf bound_ctrl:1",
     [](int l, int) { return inRow(l, (l + 13) % 16); }, 15, 15, true},
    {"dpp8:[7,6,5,4,3,2,1,0]", [](int l, int) { return l ^ 7; }, 15, 15, true, false, true},
};

struct SourceForm {
  enum { Vector, Scalar, Constant } kind = Vector;
  uint64_t constant = 0;
  bool negative = false, absolute = false, high = false;
  int part = 6; ///< SDWA: bytes 0-3, words 4-5
  bool extended = false;
};

/// One way to write an operation.
struct Variant {
  std::string text;
  SourceForm source[3];
  bool clamp = false;
  int scale = 0; ///< omod
  bool highResult = false;
  int sdwaPart = 6, sdwaUnused = 0;
  const Permutation *permutation = nullptr;
  bool vop3 = false;
  unsigned opsel = 0;
  bool thorough = false; ///< many operands and all modes
};

struct Signature {
  char result;
  std::vector<char> sources;
  explicit Signature(const char *text) : result(text[0]), sources(text + 2, text + strlen(text)) {}
};

std::string registers(char bank, unsigned first, unsigned bits) {
  const std::string n = std::to_string(first);
  if (bits <= 32)
    return bank + n;
  return std::string(1, bank) + "[" + n + ":" + std::to_string(first + bits / 32 - 1) + "]";
}

/// Writes all variants of an operation.
class Writer {
public:
  Writer(const Machine &machine, const std::string &op, const VectorOp &def)
      : m(machine), name(op), def(def), sig(def.signature) {
    explicitSources = static_cast<unsigned>(sig.sources.size());
    if (def.flags & VectorOp::kAccumulate)
      --explicitSources;
    base.source[1].constant = base.source[2].constant = kLiteral;
    if (def.flags & VectorOp::kConstantB)
      base.source[1].kind = SourceForm::Constant;
    if (def.flags & VectorOp::kConstantC)
      base.source[2].kind = SourceForm::Constant;
  }

  std::vector<Variant> all() {
    plain();
    modifiers();
    constants();
    halves();
    if (m.gfx9)
      sdwa();
    dpp();
    spell();
    return std::move(variants);
  }

private:
  uint64_t kLiteral = 0x3f9d70a4;
  /// What stands in a text where the name of a register's half may.
  static constexpr char kLow = 1, kHigh = 2;

  std::string half(char kind, bool high, const Variant &v) const {
    if (m.gfx9 || widthOf(kind) != 16 || v.opsel)
      return "";
    return std::string(1, high ? kHigh : kLow);
  }
  /// LLVM has two ways to write 16-bit operands of RDNA: v2.l and v2.h, and v2 for the low half.
  void spell() {
    std::vector<Variant> written;
    for (const Variant &v : variants)
      for (bool named : {false, true}) {
        if (named ? v.text.find_first_of({kLow, kHigh}) == std::string::npos
                  : v.text.find(kHigh) != std::string::npos)
          continue;
        Variant x = v;
        x.text.clear();
        for (char c : v.text)
          if (c != kLow && c != kHigh)
            x.text += c;
          else if (named)
            x.text += c == kHigh ? ".h" : ".l";
        written.push_back(x);
      }
    variants = std::move(written);
  }

  std::string source(unsigned k, const Variant &v) const {
    const SourceForm &f = v.source[k];
    std::string s;
    if (sig.sources[k] == 'm')
      return m.lanes == 64 ? (v.vop3 ? "s[30:31]" : "vcc") : v.vop3 ? "s30" : "vcc_lo";
    if (f.kind == SourceForm::Constant)
      s = sig.sources[k] == 'h' ? "0x70a4" : "0x3f9d70a4";
    else
      s = registers(f.kind == SourceForm::Scalar ? 's' : 'v',
                    f.kind == SourceForm::Scalar ? kScalar : kSource[k], widthOf(sig.sources[k]));
    if (f.kind == SourceForm::Vector)
      s += half(sig.sources[k], f.high, v);
    if (f.absolute)
      s = "|" + s + "|";
    if (f.negative)
      s = "-" + s;
    if (f.extended)
      s = "sext(" + s + ")";
    return s;
  }
  std::string body(const std::string &mnemonic, const Variant &v,
                   const std::function<std::string(unsigned)> &operand) const {
    std::string s = mnemonic + " " + registers('v', kResult, widthOf(sig.result)) +
                    half(sig.result, v.highResult, v);
    for (unsigned k = 0; k < explicitSources; ++k)
      s += ", " + operand(k);
    return s;
  }
  void push(const std::string &mnemonic, Variant v, const std::string &tail = "") {
    v.text = body(mnemonic, v, [&](unsigned k) { return source(k, v); }) + tail;
    variants.push_back(v);
  }

  void plain() {
    Variant v = base;
    v.thorough = true;
    push(name, v);
    push(name + "_e32", v);
    v.vop3 = true;
    push(name + "_e64", v);
  }
  void modifiers() {
    Variant v = base;
    v.vop3 = true;
    for (unsigned k = 0; k < explicitSources; ++k) {
      if (sig.sources[k] == 'm')
        continue;
      for (int which = 1; which < 4; ++which) {
        Variant x = v;
        x.source[k].negative = which & 1;
        x.source[k].absolute = which & 2;
        push(name + "_e64", x);
      }
    }
    for (int scale = 0; scale < 4; ++scale)
      for (bool clamp : {false, true}) {
        Variant x = v;
        x.clamp = clamp;
        x.scale = scale;
        x.thorough = scale == 0;
        static const char *const kScales[] = {"", " mul:2", " mul:4", " div:2"};
        push(name + "_e64", x, std::string(clamp ? " clamp" : "") + kScales[scale]);
      }
  }
  void constants() {
    struct Inline {
      const char *text;
      uint64_t f32, f16, f64;
    };
    static const Inline kFloats[] = {{"1.0", 0x3f800000, 0x3c00, 0x3ff0000000000000},
                                     {"-4.0", 0xc0800000, 0xc400, 0xc010000000000000},
                                     {"0.5", 0x3f000000, 0x3800, 0x3fe0000000000000},
                                     {"0.15915494", 0x3e22f983, 0x3118, 0x3fc45f306dc9c882}};
    auto with = [&](unsigned k, const std::string &text, uint64_t value, bool e64) {
      Variant v = base;
      v.vop3 = e64;
      v.source[k].kind = SourceForm::Constant;
      v.source[k].constant = value;
      v.text = body(name + (e64 ? "_e64" : ""), v,
                    [&](unsigned at) { return at == k ? text : source(at, v); });
      variants.push_back(v);
    };
    for (unsigned k = 0; k < explicitSources; ++k) {
      const char kind = sig.sources[k];
      if (kind == 'm' || base.source[k].kind == SourceForm::Constant)
        continue;
      Variant v = base;
      v.source[k].kind = SourceForm::Scalar;
      push(name, v);
      for (bool e64 : {false, true}) {
        if (isFloatKind(kind))
          for (const Inline &c : kFloats)
            with(k, kind == 'd' && c.f16 == 0x3118 ? "0.15915494309189532" : c.text,
                 kind == 'f'   ? c.f32
                 : kind == 'h' ? c.f16
                               : c.f64,
                 e64);
        with(k, "64", 64, e64);
        with(k, "-16", widthOf(kind) == 64 ? ~uint64_t(15) : 0xfffffff0, e64);
        if (widthOf(kind) <= 32)
          with(k, widthOf(kind) == 16 ? "0x7a4b" : "0x12347a4b",
               widthOf(kind) == 16 ? 0x7a4b : 0x12347a4b, e64);
      }
    }
  }
  /// 16-bit operands in upper halves: op_sel, and by name where registers have halves.
  void halves() {
    unsigned any = 0;
    for (unsigned k = 0; k < explicitSources; ++k)
      any |= unsigned(widthOf(sig.sources[k]) == 16 && base.source[k].kind == SourceForm::Vector)
             << k;
    any |= unsigned(widthOf(sig.result) == 16) << 3;
    if (!any || def.flags & VectorOp::kKeepsOld)
      return;
    for (unsigned bits = 1; bits < 16; ++bits) {
      if (bits & ~any)
        continue;
      Variant v = base;
      v.vop3 = true;
      v.opsel = bits;
      for (unsigned k = 0; k < 3; ++k)
        v.source[k].high = bits >> k & 1;
      v.highResult = bits & 8;
      if (def.flags & VectorOp::kAccumulate) // the addend is the half that is written
        v.source[2].high = bits & 8;
      std::string list = " op_sel:[";
      for (unsigned k = 0; k < explicitSources; ++k)
        list += bits >> k & 1 ? "1," : "0,";
      push(name + "_e64", v, list + (bits & 8 ? "1]" : "0]"));
      if (m.gfx9)
        continue;
      Variant x = v;
      x.opsel = 0;
      for (const char *encoding : {"_e32", "_e64"}) {
        x.vop3 = encoding[2] == '6';
        push(name + encoding, x);
      }
      for (unsigned k = 0; k < explicitSources; ++k) {
        x.source[k].negative = isFloatKind(sig.sources[k]);
        x.source[k].absolute = k == 0 && isFloatKind(sig.sources[k]);
      }
      push(name + "_e64", x);
      if (isFloatKind(sig.result)) {
        x.clamp = true;
        push(name + "_e64", x, " clamp");
        x.clamp = false;
      }
      if (explicitSources > 2)
        x.source[2].negative = false;
      for (const Permutation &p : kPermutations) {
        x.permutation = &p;
        x.vop3 = false;
        push(name + "_dpp", x, std::string(" ") + p.text);
        x.vop3 = true;
        push(name + "_e64_dpp", x, std::string(" ") + p.text);
      }
    }
  }
  void sdwa() {
    if (explicitSources > 3 || widthOf(sig.result) > 32 || sig.result == 'x')
      return;
    static const char *const kParts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                         "WORD_0", "WORD_1", "DWORD"};
    static const char *const kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    struct Choice {
      int dst, unused, a, b;
      bool extend, negate;
    };
    static const Choice kChoices[] = {{6, 0, 5, 4, false, false}, {5, 2, 6, 6, false, false},
                                      {1, 1, 0, 5, true, false},  {3, 0, 3, 2, false, false},
                                      {4, 2, 5, 1, true, false},  {6, 2, 6, 5, false, true},
                                      {2, 2, 6, 6, false, true},  {0, 0, 4, 6, false, false}};
    for (const Choice &c : kChoices) {
      Variant v = base;
      v.sdwaPart = c.dst;
      v.sdwaUnused = c.unused;
      std::string tail =
          std::string(" dst_sel:") + kParts[c.dst] + " dst_unused:" + kUnused[c.unused];
      for (unsigned k = 0; k < explicitSources && k < 2; ++k) {
        v.source[k].part = k ? c.b : c.a;
        v.source[k].extended = c.extend && !isFloatKind(sig.sources[k]);
        v.source[k].negative = c.negate && isFloatKind(sig.sources[k]);
        v.source[k].absolute = c.negate && k == 0 && isFloatKind(sig.sources[k]);
        tail += " src" + std::to_string(k) + "_sel:" + kParts[v.source[k].part];
      }
      push(name + "_sdwa", v, tail);
      if (c.dst == 6 && !c.negate) {
        v.clamp = true;
        push(name + "_sdwa", v, " clamp" + tail);
      }
    }
  }
  void dpp() {
    for (const Permutation &p : kPermutations) {
      Variant v = base;
      v.permutation = &p;
      push(name + "_dpp", v, std::string(" ") + p.text);
      for (unsigned k = 0; k < explicitSources && k < 2; ++k) {
        v.source[k].negative = isFloatKind(sig.sources[k]);
        v.source[k].absolute = k == 0 && isFloatKind(sig.sources[k]);
      }
      push(name + "_dpp", v, std::string(" ") + p.text);
      v.vop3 = true;
      push(name + "_e64_dpp", v, std::string(" ") + p.text);
    }
  }

  const Machine &m;
  std::string name;
  const VectorOp &def;
  Signature sig;
  unsigned explicitSources;
  Variant base;
  std::vector<Variant> variants;
};

uint64_t part(uint64_t x, int select, bool extended) {
  if (select == 6)
    return x;
  const unsigned bits = select < 4 ? 8 : 16;
  const uint64_t p = x >> (select < 4 ? 8 * select : 16 * (select - 4)) & ((1u << bits) - 1);
  return extended && p >> (bits - 1) ? p | (0xffffffffull << bits & 0xffffffff) : p;
}

struct Check {
  Machine &m;
  const VectorOp &def;
  Signature sig;
  bool shortKeepsUpper; ///< 16-bit results leave the upper half alone
  std::string failures;
  unsigned failed = 0;

  uint64_t lanesOf(unsigned r, unsigned lane, unsigned bits) {
    return bits == 64 ? m.row(r)[lane] | uint64_t(m.row(r + 1)[lane]) << 32 : m.row(r)[lane];
  }

  /// Fills the sources' lanes from edges and random bits; `round` chooses which meet.
  void fill(unsigned round, uint64_t &seed) {
    for (unsigned k = 0; k < sig.sources.size(); ++k) {
      const char kind = sig.sources[k];
      const auto &edges = edgesOf(kind);
      const unsigned bits = widthOf(kind);
      for (unsigned lane = 0; lane < 64; ++lane) {
        const uint64_t at = round * 64 + lane;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t x = seed >> 7 ^ seed << 41;
        if (round % 4 != 3)
          x = edges[(k == 0   ? at
                     : k == 1 ? at / edges.size() + at * 3
                              : at * 7 + (seed >> 60)) %
                    edges.size()] |
              (bits == 16 ? edges[(at * 5 + k + 1) % edges.size()] << 16 : 0);
        m.row(kSource[k])[lane] = static_cast<uint32_t>(x);
        m.row(kSource[k] + 1)[lane] = static_cast<uint32_t>(x >> 32);
      }
    }
    if (sig.sources.back() == 'm') {
      m.setS64(106, seed);
      m.setS64(30, seed);
    }
    m.s(kScalar) = m.row(2)[5];
    m.s(kScalar + 1) = m.row(3)[5];
  }

  uint64_t operand(const Variant &v, unsigned k, unsigned lane, int from) {
    const SourceForm &f = v.source[k];
    const char kind = sig.sources[k];
    if (kind == 'm')
      return m.s64(30) >> lane & 1;
    const unsigned bits = widthOf(kind);
    uint64_t x = f.kind == SourceForm::Constant ? f.constant
                 : f.kind == SourceForm::Scalar ? m.s64(kScalar)
                 : k == 0 && from != static_cast<int>(lane)
                     ? (from < 0 ? 0 : lanesOf(kSource[0], static_cast<unsigned>(from), bits))
                     : lanesOf(kSource[k], lane, bits);
    if (bits <= 32)
      x = part(x & 0xffffffff, f.part, f.extended);
    if (bits == 16)
      x = x >> (f.high ? 16 : 0) & 0xffff;
    const uint64_t sign = uint64_t(1) << (bits - 1);
    if (f.absolute)
      x &= ~sign;
    if (f.negative)
      x ^= sign;
    return x;
  }

  uint64_t resultModifiers(const Variant &v, uint64_t r) {
    if (!isFloatKind(sig.result) || def.flags & VectorOp::kNoFloatOut)
      return r;
    const Format f = formatOf(sig.result);
    if (v.scale && env.flushOut(f) && !env.ieee)
      r = out(f, valueOf(f, r) * (v.scale == 1 ? 2 : v.scale == 2 ? 4 : Quad(0.5)));
    if (v.clamp) {
      if (isNan(f, r))
        return env.dx10 ? 0 : r;
      const Quad x = valueOf(f, r);
      r = x >= 1 ? roundTo(f, 1) : x <= 0 ? 0 : r;
    }
    return r;
  }

  bool same(uint64_t got, uint64_t want) const {
    if (got == want)
      return true;
    if (sig.result == 'p' || sig.result == 'q') { // two halves, two bfloats
      const Format f = sig.result == 'p' ? kF16 : kBf16;
      for (unsigned shift : {0u, 16u})
        if ((got ^ want) >> shift & 0xffff &&
            !(isNan(f, got >> shift & 0xffff) && isNan(f, want >> shift & 0xffff)))
          return false;
      return true;
    }
    if (!isFloatKind(sig.result))
      return false;
    const Format f = formatOf(sig.result);
    if (isNan(f, got) || isNan(f, want))
      return isNan(f, got) && isNan(f, want);
    if (!(def.flags & VectorOp::kApproximate) || isNegative(f, got) != isNegative(f, want))
      return false;
    const uint64_t ulps = sig.result == 'd' ? 4 : 1; // hardware's doubles have about 26 good bits
    return got > want ? got - want <= ulps : want - got <= ulps;
  }

  void report(const Variant &v, unsigned lane, uint64_t a, uint64_t b, uint64_t c, uint64_t got,
              uint64_t want, uint32_t mode) {
    if (++failed > 3)
      return;
    char line[320];
    std::snprintf(line, sizeof line,
                  "%s: %s\n  mode %x lane %u (%llx, %llx, %llx) old %llx -> %llx, want %llx\n",
                  m.target.c_str(), v.text.c_str(), mode, lane, (unsigned long long)a,
                  (unsigned long long)b, (unsigned long long)c, (unsigned long long)env.old,
                  (unsigned long long)got, (unsigned long long)want);
    failures += line;
  }

  void run(const Variant &v, size_t snippet, unsigned round, uint32_t mode, uint64_t &seed) {
    fill(round, seed);
    const uint64_t exec = m.mask(kExecs[round % 2]);
    const unsigned bits = widthOf(sig.result);
    std::vector<uint64_t> old(64);
    for (unsigned lane = 0; lane < 64; ++lane) {
      // Accumulators start from operands' values, others from a pattern.
      const bool acc = def.flags & VectorOp::kAccumulate;
      const unsigned last = static_cast<unsigned>(sig.sources.size()) - 1;
      for (unsigned d = 0; d < 2; ++d)
        m.row(kResult + d)[lane] = acc ? m.row(kSource[last] + d)[lane] : kPoison[d];
      old[lane] = lanesOf(kResult, lane, bits);
    }
    setEnv(mode, v);
    m.setMode(mode);
    m.setExec(exec);
    // The machine may change its state: the operands are taken first.
    uint64_t operands[3][64] = {};
    std::vector<bool> written(64, false);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      int from = static_cast<int>(lane);
      written[lane] = exec >> lane & 1;
      if (const Permutation *p = v.permutation) {
        from = p->from(from, static_cast<int>(m.lanes));
        if (from >= 0 && !(exec >> from & 1))
          from = -1;
        written[lane] =
            written[lane] &&
            (p->eight || ((p->rows >> (lane / 16) & 1) && (p->banks >> (lane / 4 % 4) & 1)));
        if (from < 0 && !p->zero)
          written[lane] = false;
      }
      for (unsigned k = 0; k < sig.sources.size(); ++k)
        operands[k][lane] = operand(v, k, lane, k == 0 ? from : static_cast<int>(lane));
    }
    const std::string fault = m.run(snippet);
    if (!fault.empty()) {
      if (++failed <= 3)
        failures += m.target + ": " + v.text + ": " + fault + "\n";
      return;
    }
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      const uint64_t got = lanesOf(kResult, lane, bits);
      uint64_t want = old[lane], value = 0;
      env.old = old[lane];
      if (written[lane]) {
        value = def.reference(operands[0][lane], operands[1][lane], operands[2][lane]);
        value = resultModifiers(v, value);
        want = merged(v, old[lane], value);
      }
      bool ok = got == want;
      if (!ok && written[lane] && v.sdwaPart == 6) {
        const unsigned shift = v.highResult ? 16 : 0;
        if (bits == 16)
          ok = same(got >> shift & 0xffff, value) &&
               (got & ~(0xffffull << shift)) == (want & ~(0xffffull << shift));
        else
          ok = same(got, want);
      } else if (!ok && written[lane] && isFloatKind(sig.result)) {
        // Parts of results that are no numbers, or approximate, say nothing.
        ok = isNan(formatOf(sig.result), value) || def.flags & VectorOp::kApproximate;
      }
      if (!ok)
        report(v, lane, operands[0][lane], operands[1][lane], operands[2][lane], got, want, mode);
    }
  }

  uint64_t merged(const Variant &v, uint64_t old, uint64_t value) const {
    if (def.flags & VectorOp::kKeepsOld)
      return value;
    if (v.sdwaPart != 6) {
      const unsigned bits = v.sdwaPart < 4 ? 8 : 16;
      const unsigned shift =
          v.sdwaPart < 4 ? 8u * unsigned(v.sdwaPart) : 16u * unsigned(v.sdwaPart - 4);
      const uint64_t low = value & ((1u << bits) - 1);
      uint64_t r = low << shift;
      const uint64_t field = uint64_t((1u << bits) - 1) << shift;
      if (v.sdwaUnused == 2)
        return r | (old & 0xffffffff & ~field);
      if (v.sdwaUnused == 1 && low >> (bits - 1))
        r |= 0xffffffffull << shift << bits & 0xffffffff;
      return r;
    }
    if (widthOf(sig.result) != 16)
      return value;
    if (v.highResult)
      return (old & 0xffff) | (value & 0xffff) << 16;
    return (value & 0xffff) | (shortKeepsUpper ? old & 0xffff0000 : 0);
  }

  void setEnv(uint32_t mode, const Variant &v) {
    env.target = m.target;
    env.gfx9 = m.gfx9;
    env.gfx12 = m.gfx12;
    env.gfx950 = m.gfx950;
    env.round32 = mode & 3;
    env.round64 = mode >> 2 & 3;
    env.denorm32 = mode >> 4 & 3;
    env.denorm64 = mode >> 6 & 3;
    env.dx10 = m.gfx12 || mode >> 8 & 1;
    env.ieee = !m.gfx12 && mode >> 9 & 1;
    env.clamp = v.clamp;
    env.opsel = v.opsel;
  }
};
} // namespace

unsigned widthOf(char kind) {
  switch (kind) {
  case 'h':
  case 's':
    return 16;
  case 'd':
  case 'U':
    return 64;
  default:
    return 32;
  }
}
bool isFloatKind(char kind) { return kind == 'f' || kind == 'h' || kind == 'd'; }
Format formatOf(char kind) { return kind == 'h' ? kF16 : kind == 'd' ? kF64 : kF32; }

const std::vector<uint64_t> &edgesOf(char kind) {
  static std::map<char, std::vector<uint64_t>> all;
  std::vector<uint64_t> &e = all[kind];
  if (!e.empty())
    return e;
  const unsigned bits = widthOf(kind);
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  auto add = [&](uint64_t x) { e.push_back(x & mask); };
  if (isFloatKind(kind)) {
    const Format f = formatOf(kind);
    const uint64_t one = roundTo(f, 1), infinity = roundTo(f, HUGE_VAL);
    const uint64_t sign = uint64_t(1) << (bits - 1), least = uint64_t(1) << f.mantissa;
    for (uint64_t x : {uint64_t(0),
                       one,
                       infinity,
                       infinity - 1,
                       uint64_t(1),
                       least - 1,
                       least,
                       least + 1,
                       roundTo(f, 0.5),
                       roundTo(f, 1.5),
                       roundTo(f, 2.5),
                       one + 1,
                       one - 1,
                       roundTo(f, Quad(1) / 3),
                       roundTo(f, 3.14159265358979323846),
                       roundTo(f, 127.5),
                       roundTo(f, 255.5),
                       roundTo(f, 32767.5),
                       roundTo(f, 65504),
                       roundTo(f, 1e5),
                       roundTo(f, 2147483648.0),
                       roundTo(f, 4294967295.0),
                       roundTo(f, 1e-3),
                       roundTo(f, 7),
                       roundTo(f, 0.999),
                       least << 1,
                       infinity | 1,
                       infinity | least >> 1 | 5}) {
      add(x);
      add(x | sign);
    }
  } else {
    for (uint64_t x : {0ull, 1ull, 2ull, 3ull, 7ull, 15ull, 16ull, 31ull, 32ull, 63ull, 64ull})
      add(x);
    for (unsigned shift : {7u, 8u, 15u, 16u, 23u, 24u, 31u, 32u, 48u, 63u})
      if (shift < bits)
        for (int d = -1; d < 2; ++d)
          add((uint64_t(1) << shift) + static_cast<uint64_t>(d));
    for (uint64_t x :
         {~0ull, ~1ull, 0x123456789abcdef0ull, 0xdeadbeefcafef00dull, 0xff00ff00ff00ff00ull,
          0x0001000100010001ull, 0x8000800080008000ull, 0x7fff7fff7fff7fffull,
          0xffff8000ffff8000ull, 0x3c00c0007bff0400ull, 0x3f8000003f800000ull})
      add(x);
  }
  return e;
}

std::set<std::string> &nearInTables() {
  static std::set<std::string> names;
  return names;
}

void runVectorTable(const std::vector<VectorOp> &table) {
  for (const char *target : kTargets) {
    struct Entry {
      const VectorOp *def;
      std::string name;
      std::vector<Variant> variants;
      size_t first;
    };
    Machine m(target);
    std::vector<Entry> entries;
    for (const VectorOp &def : table) {
      std::istringstream names(def.name);
      for (std::string name; names >> name;) {
        if (def.flags & VectorOp::kApproximate)
          nearInTables().insert(name);
        Entry e{&def, name, Writer(m, name, def).all(), 0};
        for (size_t i = 0; i < e.variants.size(); ++i) {
          const size_t n = m.add(e.variants[i].text);
          e.first = i == 0 ? n : e.first;
        }
        entries.push_back(std::move(e));
      }
    }
    m.build();
    uint64_t seed = 12345;
    for (Entry &e : entries) {
      bool compact = false; // has a VOP1 or VOP2 form
      for (size_t i = 0; i < e.variants.size(); ++i)
        compact |=
            m.accepted(e.first + i) && (e.variants[i].text.find("_e32 ") != std::string::npos);
      const bool clears = m.gfx9 && (compact || e.name.find("_legacy_") != std::string::npos);
      Check check{m, *e.def, Signature(e.def->signature), !clears, {}};
      for (size_t i = 0; i < e.variants.size(); ++i) {
        const Variant &v = e.variants[i];
        if (!m.accepted(e.first + i))
          continue;
        for (unsigned round = 0; round < (v.thorough ? 12u : 2u); ++round)
          check.run(v, e.first + i, round, 0x1f0, seed);
        if (v.thorough || v.scale || v.permutation)
          for (uint32_t mode : kModes)
            for (unsigned round = 0; round < 4; ++round)
              check.run(v, e.first + i, round, mode, seed);
      }
      INFO(check.failures);
      CHECK(check.failed == 0);
    }
  }
}

} // namespace flyemu::test
