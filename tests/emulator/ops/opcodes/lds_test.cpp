// LDS: reads and writes of all widths, atomics, permutes, transposing reads.
#include "atomic_reference.h"
#include "machine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full;

unsigned placeOf(unsigned lane) { return 64 + (lane * 13 % 64) * 24; }
void prepare(Machine &m, unsigned seed) {
  scramble(m.lds, seed);
  for (unsigned lane = 0; lane < 64; ++lane) {
    m.row(2)[lane] = placeOf(lane);
    for (unsigned r = 4; r < 20; ++r)
      m.row(r)[lane] = 0x9e3779b9 * (lane + 64 * r + 1 + seed);
  }
  m.setMode(0x1f0);
  m.setExec(kExec);
}
u64 load(const std::vector<uint8_t> &bytes, unsigned at, unsigned size) {
  u64 x = 0;
  std::memcpy(&x, &bytes[at], size);
  return x;
}
} // namespace

TEST_CASE("opcodes: LDS reads and writes match the reference") {
  struct Access {
    const char *gfx9, *later;
    unsigned bytes;
    bool isSigned;
    int half;
    unsigned unit; ///< of the two offsets; 0: one offset
    bool write;
  };
  static const Access kAccesses[] = {
      {"read_u8", "load_u8", 1, false, 0, 0, false},
      {"read_i8", "load_i8", 1, true, 0, 0, false},
      {"read_u16", "load_u16", 2, false, 0, 0, false},
      {"read_i16", "load_i16", 2, true, 0, 0, false},
      {"read_u8_d16", "load_u8_d16", 1, false, 1, 0, false},
      {"read_u8_d16_hi", "load_u8_d16_hi", 1, false, 2, 0, false},
      {"read_i8_d16", "load_i8_d16", 1, true, 1, 0, false},
      {"read_i8_d16_hi", "load_i8_d16_hi", 1, true, 2, 0, false},
      {"read_u16_d16", "load_u16_d16", 2, false, 1, 0, false},
      {"read_u16_d16_hi", "load_u16_d16_hi", 2, false, 2, 0, false},
      {"read_b32", "load_b32", 4, false, 0, 0, false},
      {"read_b64", "load_b64", 8, false, 0, 0, false},
      {"read_b96", "load_b96", 12, false, 0, 0, false},
      {"read_b128", "load_b128", 16, false, 0, 0, false},
      {"read2_b32", "load_2addr_b32", 4, false, 0, 4, false},
      {"read2_b64", "load_2addr_b64", 8, false, 0, 8, false},
      {"read2st64_b32", "load_2addr_stride64_b32", 4, false, 0, 256, false},
      {"read2st64_b64", "load_2addr_stride64_b64", 8, false, 0, 512, false},
      {"write_b8", "store_b8", 1, false, 0, 0, true},
      {"write_b8_d16_hi", "store_b8_d16_hi", 1, false, 2, 0, true},
      {"write_b16", "store_b16", 2, false, 0, 0, true},
      {"write_b16_d16_hi", "store_b16_d16_hi", 2, false, 2, 0, true},
      {"write_b32", "store_b32", 4, false, 0, 0, true},
      {"write_b64", "store_b64", 8, false, 0, 0, true},
      {"write_b96", "store_b96", 12, false, 0, 0, true},
      {"write_b128", "store_b128", 16, false, 0, 0, true},
      {"write2_b32", "store_2addr_b32", 4, false, 0, 4, true},
      {"write2_b64", "store_2addr_b64", 8, false, 0, 8, true},
      {"write2st64_b32", "store_2addr_stride64_b32", 4, false, 0, 256, true},
      {"write2st64_b64", "store_2addr_stride64_b64", 8, false, 0, 512, true},
  };
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<size_t> ids;
    for (const Access &a : kAccesses) {
      std::string text = std::string("ds_") + (m.gfx9 ? a.gfx9 : a.later);
      if (a.write)
        text += " v2, " + registers(8, a.bytes) + (a.unit ? ", " + registers(12, a.bytes) : "");
      else
        text += " " + registers(8, a.unit ? 2 * a.bytes : a.bytes) + ", v2";
      text += a.unit ? " offset0:3 offset1:1" : " offset:8";
      ids.push_back(m.add(text));
    }
    m.build();
    for (size_t i = 0; i < std::size(kAccesses); ++i) {
      const Access &a = kAccesses[i];
      INFO(target << ": " << m.text(ids[i]));
      REQUIRE(m.accepted(ids[i]));
      // All lanes, too, for the way through whole waves.
      for (u64 exec : {kExec, ~u64(0)}) {
        prepare(m, static_cast<unsigned>(i));
        m.setExec(exec);
        std::vector<uint8_t> lds = m.lds;
        std::vector<uint32_t> want(m.row(8), m.row(12));
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          if (!(exec >> lane & 1))
            continue;
          const unsigned count = a.unit ? 2 : 1;
          for (unsigned k = 0; k < count; ++k) {
            const unsigned at = placeOf(lane) + (a.unit ? (k ? 1 : 3) * a.unit : 8);
            uint32_t x[4] = {};
            if (a.write) {
              for (unsigned d = 0; d < 4; ++d)
                x[d] = m.row(8 + 4 * k + d)[lane];
              x[0] >>= a.half == 2 ? 16 : 0;
              std::memcpy(&lds[at], x, a.bytes);
              continue;
            }
            std::memcpy(x, &m.lds[at], a.bytes);
            if (a.bytes < 4) {
              const unsigned up = 32 - 8 * a.bytes;
              const uint32_t old = want[lane];
              if (a.isSigned)
                x[0] = static_cast<uint32_t>(static_cast<int32_t>(x[0] << up) >> up);
              want[lane] = a.half == 0   ? x[0]
                           : a.half == 1 ? (old & 0xffff0000) | (x[0] & 0xffff)
                                         : (old & 0xffff) | x[0] << 16;
            }
            for (unsigned d = 0; d < a.bytes / 4; ++d)
              want[(k * a.bytes / 4 + d) * 64 + lane] = x[d];
          }
        }
        CHECK(m.run(ids[i]) == "");
        CHECK(m.lds == lds);
        CHECK(std::memcmp(want.data(), m.row(8), want.size() * 4) == 0);
      }
    }
  }
}

namespace {
/// f(memory, first, second): the operands in the order of the instruction.
struct Atomic {
  const char *name, *type;
  unsigned bits;
  unsigned data; ///< data operands
  u64 (*f)(u64 m, u64 x, u64 y);
  char kind = 'i';
  enum { Both, Gfx9, Later } where = Both;
  bool onlyReturns = false;
};
template <Format F> bool equal(u64 a, u64 b) { return valueOf(F, a) == valueOf(F, b); }
#define PAIR(NAME, T32, T64, EXPR)                                                                 \
  {NAME, T32, 32, 1, [](u64 m, u64 x, u64) -> u64 { return EXPR; }}, {                             \
    NAME, T64, 64, 1, [](u64 m, u64 x, u64) -> u64 { return EXPR; }                                \
  }
const Atomic kAtomics[] = {
    PAIR("add", "u32", "u64", m + x),
    PAIR("sub", "u32", "u64", m - x),
    PAIR("rsub", "u32", "u64", x - m),
    PAIR("inc", "u32", "u64", m >= x ? 0 : m + 1),
    PAIR("dec", "u32", "u64", m == 0 || m > x ? x : m - 1),
    {"min", "i32", 32, 1,
     [](u64 m, u64 x, u64) { return signedOf<32>(x) < signedOf<32>(m) ? x : m; }},
    {"max", "i32", 32, 1,
     [](u64 m, u64 x, u64) { return signedOf<32>(x) > signedOf<32>(m) ? x : m; }},
    {"min", "i64", 64, 1,
     [](u64 m, u64 x, u64) { return signedOf<64>(x) < signedOf<64>(m) ? x : m; }},
    {"max", "i64", 64, 1,
     [](u64 m, u64 x, u64) { return signedOf<64>(x) > signedOf<64>(m) ? x : m; }},
    PAIR("min", "u32", "u64", std::min(m, x)),
    PAIR("max", "u32", "u64", std::max(m, x)),
    PAIR("and", "b32", "b64", m &x),
    PAIR("or", "b32", "b64", m | x),
    PAIR("xor", "b32", "b64", m ^ x),
    {"mskor", "b32", 32, 2, [](u64 m, u64 x, u64 y) { return (m & ~x) | y; }},
    {"mskor", "b64", 64, 2, [](u64 m, u64 x, u64 y) { return (m & ~x) | y; }},
    {"cmpst", "b32", 32, 2, [](u64 m, u64 x, u64 y) { return m == x ? y : m; }, 'i', Atomic::Gfx9},
    {"cmpst", "b64", 64, 2, [](u64 m, u64 x, u64 y) { return m == x ? y : m; }, 'i', Atomic::Gfx9},
    {"cmpst", "f32", 32, 2, [](u64 m, u64 x, u64 y) { return equal<kF32>(m, x) ? y : m; }, 'f',
     Atomic::Gfx9},
    {"cmpst", "f64", 64, 2, [](u64 m, u64 x, u64 y) { return equal<kF64>(m, x) ? y : m; }, 'd',
     Atomic::Gfx9},
    {"cmpstore", "b32", 32, 2, [](u64 m, u64 x, u64 y) { return m == y ? x : m; }, 'i',
     Atomic::Later},
    {"cmpstore", "b64", 64, 2, [](u64 m, u64 x, u64 y) { return m == y ? x : m; }, 'i',
     Atomic::Later},
    {"cmpstore", "f32", 32, 2, [](u64 m, u64 x, u64 y) { return equal<kF32>(m, y) ? x : m; }, 'f',
     Atomic::Later},
    {"cmpstore", "f64", 64, 2, [](u64 m, u64 x, u64 y) { return equal<kF64>(m, y) ? x : m; }, 'd',
     Atomic::Later},
    {"add", "f32", 32, 1, sum<kF32>, 'f'},
    {"add", "f64", 64, 1, sum<kF64>, 'd', Atomic::Gfx9},
    {"min", "f32", 32, 1, extreme<kF32, false>, 'f'},
    {"max", "f32", 32, 1, extreme<kF32, true>, 'f'},
    {"min", "f64", 64, 1, extreme<kF64, false>, 'd'},
    {"max", "f64", 64, 1, extreme<kF64, true>, 'd'},
    {"min_num", "f32", 32, 1, extreme<kF32, false>, 'f'},
    {"max_num", "f32", 32, 1, extreme<kF32, true>, 'f'},
    {"min_num", "f64", 64, 1, extreme<kF64, false>, 'd'},
    {"max_num", "f64", 64, 1, extreme<kF64, true>, 'd'},
    {"pk_add", "f16", 32, 1, sums<kF16>, 'h'},
    {"pk_add", "bf16", 32, 1, sums<kBf16>, 'b'},
    {"sub_clamp", "u32", 32, 1, [](u64 m, u64 x, u64) { return m >= x ? m - x : 0; }},
    {"cond_sub", "u32", 32, 1, [](u64 m, u64 x, u64) { return m >= x ? m - x : m; }},
    {"wrap", "b32", 32, 2, [](u64 m, u64 x, u64 y) { return m >= x ? m - x : m + y; }, 'i',
     Atomic::Both, true},
    {"condxchg32", "b64", 64, 1,
     [](u64 m, u64 x, u64) {
       const u64 low = x >> 31 & 1 ? x & 0x7fffffff : m & 0xffffffff;
       return low | (x >> 63 ? x >> 32 & 0x7fffffff : m >> 32) << 32;
     },
     'i', Atomic::Both, true},
    {"wrxchg", "b32", 32, 1, [](u64, u64 x, u64) { return x; }, 'i', Atomic::Gfx9, true},
    {"wrxchg", "b64", 64, 1, [](u64, u64 x, u64) { return x; }, 'i', Atomic::Gfx9, true},
    {"storexchg", "b32", 32, 1, [](u64, u64 x, u64) { return x; }, 'i', Atomic::Later, true},
    {"storexchg", "b64", 64, 1, [](u64, u64 x, u64) { return x; }, 'i', Atomic::Later, true},
};
} // namespace

TEST_CASE("opcodes: atomics of LDS match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::tuple<const Atomic *, size_t, bool>> entries;
    for (const Atomic &a : kAtomics) {
      if (a.where == (m.gfx9 ? Atomic::Later : Atomic::Gfx9))
        continue;
      const std::string data =
          registers(4, a.bits / 8) + (a.data == 2 ? ", " + registers(6, a.bits / 8) : "");
      if (!a.onlyReturns)
        entries.emplace_back(
            &a, m.add(std::string("ds_") + a.name + "_" + a.type + " v2, " + data + " offset:8"),
            false);
      entries.emplace_back(&a,
                           m.add(std::string("ds_") + a.name + "_rtn_" + a.type + " " +
                                 registers(8, a.bits / 8) + ", v2, " + data + " offset:8"),
                           true);
    }
    m.build();
    for (auto &[a, id, returns] : entries) {
      if (!m.accepted(id))
        continue;
      const unsigned bytes = a->bits / 8;
      const u64 mask = a->bits == 64 ? ~u64(0) : 0xffffffff;
      for (unsigned round = 0; round < 4; ++round) {
        prepare(m, round);
        u64 memory[64], x[64], y[64];
        for (unsigned lane = 0; lane < 64; ++lane) {
          memory[lane] = edge(a->kind, lane + round * 3, a->bits);
          x[lane] = lane % 3 ? edge(a->kind, lane / 5 + round * 7 + lane, a->bits) : memory[lane];
          y[lane] = lane % 2 ? edge(a->kind, lane * 3 + round, a->bits) : memory[lane];
          std::memcpy(&m.lds[placeOf(lane) + 8], &memory[lane], bytes);
          for (unsigned d = 0; d < 2; ++d) {
            m.row(4 + d)[lane] = static_cast<uint32_t>(x[lane] >> 32 * d);
            m.row(6 + d)[lane] = static_cast<uint32_t>(y[lane] >> 32 * d);
          }
        }
        INFO(target << ": " << m.text(id) << " " << m.run(id));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          const bool on = kExec >> lane & 1;
          const u64 want = on ? a->f(memory[lane], x[lane], y[lane]) & mask : memory[lane];
          ok = ok && agree(a->kind, load(m.lds, placeOf(lane) + 8, bytes), want);
          if (returns && on)
            ok = ok && ((m.row(8)[lane] | u64(m.row(9)[lane]) << 32) & mask) == memory[lane];
        }
        CHECK(ok);
      }
    }
  }
}

TEST_CASE("opcodes: LDS exchanges of two places, M0's addresses, counters match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const std::string two = m.gfx9 ? "ds_wrxchg2" : "ds_storexchg_2addr",
                      strided = m.gfx9 ? "ds_wrxchg2st64" : "ds_storexchg_2addr_stride64";
    struct Exchange {
      size_t id;
      unsigned bytes, unit;
    };
    const Exchange exchanges[] = {
        {m.add(two + "_rtn_b32 v[8:9], v2, v4, v6 offset0:1 offset1:3"), 4, 4},
        {m.add(two + "_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset0:2 offset1:0"), 8, 8},
        {m.add(strided + "_rtn_b32 v[8:9], v2, v4, v6 offset0:1 offset1:3"), 4, 256},
        {m.add(strided + "_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset0:2 offset1:0"), 8, 512},
    };
    const size_t read = m.add(m.gfx9 ? "ds_read_addtid_b32 v8 offset:16"
                                     : "ds_load_addtid_b32 v8 offset:16"),
                 write = m.add(m.gfx9 ? "ds_write_addtid_b32 v8 offset:512"
                                      : "ds_store_addtid_b32 v8 offset:512"),
                 append = m.add("ds_append v8 offset:4"), consume = m.add("ds_consume v9 offset:4"),
                 nop = m.add("ds_nop");
    m.build();
    for (const Exchange &e : exchanges) {
      prepare(m, 3);
      // Places that do not overlap: one lane at a time is looked at.
      const unsigned first = (m.text(e.id).find("offset0:1") != std::string::npos ? 1 : 2) * e.unit;
      const unsigned second =
          (m.text(e.id).find("offset1:3") != std::string::npos ? 3 : 0) * e.unit;
      for (unsigned lane : {0u, 9u, 31u}) {
        prepare(m, lane);
        m.setExec(u64(1) << lane);
        std::vector<uint8_t> want = m.lds;
        uint32_t old[4] = {}, data[2][2];
        for (unsigned k = 0; k < 2; ++k) {
          const unsigned at = placeOf(lane) + (k ? second : first);
          for (unsigned d = 0; d < 2; ++d)
            data[k][d] = m.row(4 + 2 * k + d)[lane];
          std::memcpy(old + k * e.bytes / 4, &want[at], e.bytes);
          std::memcpy(&want[at], data[k], e.bytes);
        }
        INFO(target << ": " << m.text(e.id));
        CHECK(m.run(e.id) == "");
        CHECK(m.lds == want);
        for (unsigned d = 0; d < e.bytes / 2; ++d)
          CHECK(m.row(8 + d)[lane] == old[d]);
      }
    }
    prepare(m, 5);
    m.wave.m0() = 1024;
    CHECK(m.run(read) == "");
    CHECK(m.run(write) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      if (kExec >> lane & 1) {
        CHECK(m.row(8)[lane] == load(m.lds, 1040 + 4 * lane, 4));
        CHECK(m.row(8)[lane] == load(m.lds, 1536 + 4 * lane, 4));
      }
    const u64 before = load(m.lds, 1028, 4), active = u64(__builtin_popcountll(m.mask(kExec)));
    CHECK(m.run(append) == "");
    CHECK(load(m.lds, 1028, 4) == (before + active & 0xffffffff));
    CHECK(m.run(consume) == "");
    CHECK(load(m.lds, 1028, 4) == before);
    CHECK(m.row(8)[0] == before);
    CHECK(m.row(9)[0] == (before + active & 0xffffffff));
    if (m.accepted(nop))
      CHECK(m.run(nop) == "");
  }
}

TEST_CASE("opcodes: permutes through LDS's crossbar match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t push = m.add("ds_permute_b32 v8, v2, v4 offset:8"),
                 pull = m.add("ds_bpermute_b32 v8, v2, v4 offset:8"),
                 pullAll = m.add("ds_bpermute_fi_b32 v8, v2, v4 offset:8");
    struct Swizzle {
      const char *text;
      unsigned (*from)(unsigned lane);
    };
    static const Swizzle kSwizzles[] = {
        {"quad_perm:1,0,3,2", [](unsigned l) { return l ^ 1; }},
        {"quad_perm:3,3,0,1",
         [](unsigned l) {
           constexpr unsigned k[] = {3, 3, 0, 1};
           return (l & ~3u) | k[l & 3];
         }},
        {"bitmask_perm:\"01p1i\"",
         [](unsigned l) { return (l & ~31u) | (((l & 31 & 0b00101) | 0b01010) ^ 0b00001); }},
        {"broadcast:8,3", [](unsigned l) { return (l & ~7u) | 3; }},
        {"swap:4", [](unsigned l) { return l ^ 4; }},
        {"reverse:16", [](unsigned l) { return l ^ 15; }},
    };
    std::vector<size_t> swizzles;
    for (const Swizzle &s : kSwizzles)
      swizzles.push_back(m.add(std::string("ds_swizzle_b32 v8, v4 offset:swizzle(") + [&] {
        std::string t = s.text, mode = t.substr(0, t.find(':'));
        for (char &c : mode)
          c = static_cast<char>(std::toupper(c));
        return mode + "," + t.substr(t.find(':') + 1);
      }() + ")"));
    m.build();
    prepare(m, 1);
    auto address = [](unsigned lane) { return (lane * 29 + 7) * 4 + lane % 4; };
    auto addresses = [&] {
      prepare(m, 1);
      for (unsigned lane = 0; lane < 64; ++lane)
        m.row(2)[lane] = address(lane);
      std::fill_n(m.row(8), 64, 0x31313131u);
    };
    addresses();
    CHECK(m.run(push) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      uint32_t want = kExec >> lane & 1 ? 0 : 0x31313131;
      for (unsigned from = 0; from < m.lanes; ++from) // the highest sender wins
        if (kExec >> lane & 1 && kExec >> from & 1 && (address(from) + 8) / 4 % m.lanes == lane)
          want = m.row(4)[from];
      CHECK(m.row(8)[lane] == want);
    }
    for (size_t id : {pull, pullAll}) {
      if (!m.accepted(id))
        continue;
      addresses();
      CHECK(m.run(id) == "");
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        const unsigned from = (address(lane) + 8) / 4 % m.lanes;
        const uint32_t want = kExec >> from & 1 || id == pullAll ? m.row(4)[from] : 0;
        CHECK(m.row(8)[lane] == (kExec >> lane & 1 ? want : 0x31313131));
      }
    }
    for (size_t i = 0; i < std::size(kSwizzles); ++i) {
      addresses();
      INFO(m.text(swizzles[i]));
      REQUIRE(m.accepted(swizzles[i]));
      CHECK(m.run(swizzles[i]) == "");
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        const unsigned from = kSwizzles[i].from(lane);
        CHECK(m.row(8)[lane] ==
              (kExec >> lane & 1 ? (kExec >> from & 1 ? m.row(4)[from] : 0) : 0x31313131));
      }
    }
  }
}

TEST_CASE("opcodes: gfx11: every access of global data share is refused") {
  Machine m("gfx1100");
  std::vector<size_t> ids;
  for (const char *text :
       {"ds_load_b32 v8, v2 gds", "ds_store_b32 v2, v4 gds", "ds_load_2addr_b32 v[8:9], v2 gds",
        "ds_add_u32 v2, v4 gds", "ds_append v8 gds", "ds_consume v8 gds",
        "ds_storexchg_2addr_rtn_b32 v[8:9], v2, v4, v5 gds"})
    ids.push_back(m.add(text));
  m.build();
  for (size_t id : ids) {
    INFO(m.text(id));
    REQUIRE(m.accepted(id));
    CHECK(m.run(id) == "global data share does not exist");
  }
}

TEST_CASE("opcodes: gfx950: transposing reads give each lane a column") {
  // Groups of 16 lanes. Counting elements through the lanes' pieces in their order, lane n of the
  // group gets the elements n, n + 16, n + 32 ...
  struct Read {
    const char *text;
    unsigned pieceBits, bits;
  };
  static const Read kReads[] = {{"ds_read_b64_tr_b4 v[8:9], v2", 64, 4},
                                {"ds_read_b64_tr_b8 v[8:9], v2", 64, 8},
                                {"ds_read_b64_tr_b16 v[8:9], v2", 64, 16},
                                {"ds_read_b96_tr_b6 v[8:10], v2", 96, 6}};
  Machine m("gfx950");
  std::vector<size_t> ids;
  for (const Read &r : kReads)
    ids.push_back(m.add(r.text));
  m.build();
  for (size_t i = 0; i < 4; ++i) {
    const Read &r = kReads[i];
    prepare(m, 17);
    m.setExec(~u64(0));
    auto place = [&](unsigned lane) {
      return r.bits == 6 ? 64 + (lane * 13 % 64) * 32 : placeOf(lane);
    };
    if (r.bits == 6) // placeOf gives multiples of 8
      CHECK(m.run(ids[i]).find("no multiple of 16") != std::string::npos);
    for (unsigned lane = 0; lane < 64; ++lane)
      m.row(2)[lane] = place(lane);
    CHECK(m.run(ids[i]) == "");
    auto bitOf = [&](unsigned lane, unsigned at) {
      return m.lds[place(lane) + at / 8] >> at % 8 & 1;
    };
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned e = 0; e < r.pieceBits / r.bits; ++e)
        for (unsigned b = 0; b < r.bits; ++b) {
          const unsigned through = (e * 16 + lane % 16) * r.bits + b;
          const unsigned got = e * r.bits + b;
          if ((m.row(8 + got / 32)[lane] >> got % 32 & 1) !=
              unsigned(bitOf(lane / 16 * 16 + through / r.pieceBits, through % r.pieceBits)))
            FAIL(r.text << " lane " << lane << " element " << e);
        }
  }
}

} // namespace flyemu::test
