// Vector memory: loads, stores and atomics of all widths over every way of addressing.
#include "atomic_reference.h"
#include "machine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <functional>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full;
constexpr unsigned kStride = 48; ///< bytes between the lanes' places

struct Access {
  const char *gfx9, *later; ///< the end of the name
  unsigned bytes;
  bool isSigned;
  int half; ///< 0 whole registers, 1 the low half, 2 the high half
  bool store;
};
constexpr Access kAccesses[] = {
    {"load_ubyte", "load_u8", 1, false, 0, false},
    {"load_sbyte", "load_i8", 1, true, 0, false},
    {"load_ushort", "load_u16", 2, false, 0, false},
    {"load_sshort", "load_i16", 2, true, 0, false},
    {"load_dword", "load_b32", 4, false, 0, false},
    {"load_dwordx2", "load_b64", 8, false, 0, false},
    {"load_dwordx3", "load_b96", 12, false, 0, false},
    {"load_dwordx4", "load_b128", 16, false, 0, false},
    {"load_ubyte_d16", "load_d16_u8", 1, false, 1, false},
    {"load_ubyte_d16_hi", "load_d16_hi_u8", 1, false, 2, false},
    {"load_sbyte_d16", "load_d16_i8", 1, true, 1, false},
    {"load_sbyte_d16_hi", "load_d16_hi_i8", 1, true, 2, false},
    {"load_short_d16", "load_d16_b16", 2, false, 1, false},
    {"load_short_d16_hi", "load_d16_hi_b16", 2, false, 2, false},
    {"store_byte", "store_b8", 1, false, 0, true},
    {"store_byte_d16_hi", "store_d16_hi_b8", 1, false, 2, true},
    {"store_short", "store_b16", 2, false, 0, true},
    {"store_short_d16_hi", "store_d16_hi_b16", 2, false, 2, true},
    {"store_dword", "store_b32", 4, false, 0, true},
    {"store_dwordx2", "store_b64", 8, false, 0, true},
    {"store_dwordx3", "store_b96", 12, false, 0, true},
    {"store_dwordx4", "store_b128", 16, false, 0, true},
};

/// A way of addressing. `operands` has D for the data; the lane's place is `place(lane)` in `bytes`
/// of the memory that `memory` gives.
struct Addressing {
  std::string family, operands;
  std::function<void(Machine &)> prepare;
  std::function<uint8_t *(Machine &, unsigned lane)> place;
};

void setLane64(Machine &m, unsigned r, unsigned lane, u64 x) {
  m.row(r)[lane] = static_cast<uint32_t>(x);
  m.row(r + 1)[lane] = static_cast<uint32_t>(x >> 32);
}
unsigned offsetOf(unsigned lane) { return (lane * 13 % 64) * kStride; }
/// A raw buffer of `records` bytes over the memory, in s[16:19].
void descriptor(Machine &m, uint32_t records, uint32_t stride = 0) {
  m.setS64(16, m.address());
  m.s(17) |= stride << 16;
  m.s(18) = records;
  m.s(19) = m.gfx9 ? 0x24000 : 0x30016000;
}

std::vector<Addressing> addressings(const Machine &m) {
  const std::string zero = m.gfx12 ? "null" : "0";
  auto plain = [](unsigned extra) {
    return [extra](Machine &m, unsigned lane) {
      return m.memory.data() + 512 + offsetOf(lane) + extra;
    };
  };
  std::vector<Addressing> all;
  all.push_back({"global", "D, A32, s[12:13] offset:20",
                 [](Machine &m) {
                   m.setS64(12, m.address() + 512);
                   for (unsigned lane = 0; lane < 64; ++lane)
                     m.row(2)[lane] = offsetOf(lane);
                 },
                 plain(20)});
  auto lanes64 = [](u64 extra) {
    return [extra](Machine &m) {
      for (unsigned lane = 0; lane < 64; ++lane)
        setLane64(m, 2, lane, m.address() + 512 + offsetOf(lane) + extra);
    };
  };
  all.push_back({"global", "D, A64, off offset:-12", lanes64(24), plain(12)});
  all.push_back({"flat", "D, A64 offset:8", lanes64(0), plain(8)});
  all.push_back({"flat", "D, A64",
                 [](Machine &m) {
                   for (unsigned lane = 0; lane < 64; ++lane)
                     setLane64(m, 2, lane, kSharedAperture + offsetOf(lane));
                 },
                 [](Machine &m, unsigned lane) { return m.lds.data() + offsetOf(lane); }});
  auto scratchAt = [](unsigned at) {
    return [at](Machine &m, unsigned lane) {
      return m.scratch.data() + 256 * lane + at + lane % 8 * 4;
    };
  };
  if (!m.gfx1250) // whose addresses have the lane in them
    all.push_back({"flat", "D, A64",
                   [](Machine &m) {
                     for (unsigned lane = 0; lane < 64; ++lane)
                       setLane64(m, 2, lane, kPrivateAperture + 32 + lane % 8 * 4);
                   },
                   scratchAt(32)});
  all.push_back({"scratch", "D, A32, off offset:16",
                 [](Machine &m) {
                   for (unsigned lane = 0; lane < 64; ++lane)
                     m.row(2)[lane] = 64 + lane % 8 * 4;
                 },
                 scratchAt(80)});
  all.push_back({"scratch", "D, off, s14 offset:16", [](Machine &m) { m.s(14) = 100; },
                 [](Machine &m, unsigned lane) { return m.scratch.data() + 256 * lane + 116; }});
  all.push_back({"scratch", "D, A32, s14 offset:4",
                 [](Machine &m) {
                   m.s(14) = 100;
                   for (unsigned lane = 0; lane < 64; ++lane)
                     m.row(2)[lane] = lane % 8 * 4;
                 },
                 scratchAt(104)});
  all.push_back({"buffer", "D, A32, s[16:19], " + zero + " offen offset:24",
                 [](Machine &m) {
                   descriptor(m, 1 << 16);
                   for (unsigned lane = 0; lane < 64; ++lane)
                     m.row(2)[lane] = 512 + offsetOf(lane);
                 },
                 plain(24)});
  all.push_back({"buffer", "D, A64, s[16:19], s15 idxen offen offset:4",
                 [](Machine &m) {
                   descriptor(m, 64, 48);
                   m.s(15) = 512;
                   for (unsigned lane = 0; lane < 64; ++lane) {
                     m.row(2)[lane] = lane * 13 % 64;
                     m.row(3)[lane] = 8;
                   }
                 },
                 plain(12)});
  return all;
}

std::string replaced(std::string s, const std::string &what, const std::string &by) {
  const size_t at = s.find(what);
  return at == std::string::npos ? s : s.replace(at, what.size(), by);
}
} // namespace

TEST_CASE("opcodes: loads and stores of vector memory match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Entry {
      const Access *access;
      const Addressing *way;
      size_t id;
    };
    const std::vector<Addressing> ways = addressings(m);
    std::vector<Entry> entries;
    for (const Access &a : kAccesses)
      for (const Addressing &w : ways) {
        const std::string data = registers(8, a.bytes);
        std::string operands = w.operands;
        const bool flatFamily = w.family != "buffer";
        if (m.gfx1250 && !flatFamily) // its descriptors are others
          continue;
        operands = replaced(operands, "A32", "v2");
        operands = replaced(operands, "A64", "v[2:3]");
        if (a.store && flatFamily) { // the address comes first
          const size_t comma = operands.find(", ", 3);
          std::string address = operands.substr(3, comma == std::string::npos ? comma : comma - 3);
          std::string rest = comma == std::string::npos ? "" : operands.substr(comma);
          const size_t space = address.find(' ');
          if (space != std::string::npos) {
            rest = address.substr(space);
            address.resize(space);
          }
          operands = address + ", " + data + rest;
        } else {
          operands = replaced(operands, "D", data);
        }
        entries.push_back(
            {&a, &w, m.add(w.family + "_" + (m.gfx9 ? a.gfx9 : a.later) + " " + operands)});
      }
    m.build();
    for (const Entry &e : entries) {
      INFO(target << ": " << m.text(e.id));
      if (!m.accepted(e.id)) { // scalar and vector offsets together are not everywhere
        CHECK(m.text(e.id).find("s14 offset:4") != std::string::npos);
        continue;
      }
      scramble(m.memory, 1);
      scramble(m.lds, 2);
      scramble(m.scratch, 3);
      for (unsigned r = 8; r < 12; ++r)
        for (unsigned lane = 0; lane < 64; ++lane)
          m.row(r)[lane] = 0x9e3779b9 * (lane + 64 * r + 1);
      e.way->prepare(m);
      m.setMode(0x1f0);
      m.setExec(kExec);
      std::vector<uint32_t> before(m.row(8), m.row(12));
      // What the places hold, and what all memories hold after stores.
      std::vector<uint8_t> memories[3] = {m.memory, m.lds, m.scratch};
      uint32_t want[4][64];
      const Access &a = *e.access;
      for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned r = 0; r < 4; ++r)
          want[r][lane] = before[r * 64 + lane];
        if (!(kExec >> lane & 1) || lane >= m.lanes)
          continue;
        uint8_t *p = e.way->place(m, lane);
        if (a.store) {
          uint32_t x[4];
          for (unsigned r = 0; r < 4; ++r)
            x[r] = before[r * 64 + lane];
          x[0] >>= a.half == 2 ? 16 : 0;
          for (auto [bytes, copy] : {std::pair{&m.memory, &memories[0]},
                                     {&m.lds, &memories[1]},
                                     {&m.scratch, &memories[2]}})
            if (p >= bytes->data() && p < bytes->data() + bytes->size())
              std::memcpy(copy->data() + (p - bytes->data()), x, a.bytes);
          continue;
        }
        uint32_t x[4] = {};
        std::memcpy(x, p, a.bytes);
        if (a.bytes < 4) {
          const unsigned up = 32 - 8 * a.bytes;
          if (a.isSigned)
            x[0] = static_cast<uint32_t>(static_cast<int32_t>(x[0] << up) >> up);
          const uint32_t old = want[0][lane];
          x[0] = a.half == 0   ? x[0]
                 : a.half == 1 ? (old & 0xffff0000) | (x[0] & 0xffff)
                               : (old & 0xffff) | x[0] << 16;
        }
        for (unsigned r = 0; r < std::max(1u, a.bytes / 4); ++r)
          want[r][lane] = x[r];
      }
      CHECK(m.run(e.id) == "");
      CHECK(std::memcmp(want, m.row(8), sizeof want) == 0);
      CHECK((m.memory == memories[0] && m.lds == memories[1] && m.scratch == memories[2]));
    }
  }
}

// gfx1250's descriptors are others; tests/emulator/ops/gfx1250/memory_test.cpp has its buffers.
TEST_CASE("opcodes: buffer loads and stores out of range match the reference") {
  for (const char *target : kEmulatedTargets) {
    Machine m(target);
    const std::string zero = m.gfx12 ? "null" : "0";
    const std::string dword = m.gfx9 ? "dword" : "b32", four = m.gfx9 ? "dwordx4" : "b128";
    const size_t load = m.add("buffer_load_" + four + " v[8:11], v2, s[16:19], " + zero + " offen");
    const size_t store = m.add("buffer_store_" + dword + " v8, v2, s[16:19], " + zero + " offen");
    m.build();
    scramble(m.memory, 5);
    descriptor(m, 256);
    for (unsigned lane = 0; lane < 64; ++lane)
      m.row(2)[lane] = lane * 12;
    m.setExec(~u64(0));
    CHECK(m.run(load) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      for (unsigned d = 0; d < 4; ++d) { // each dword by itself
        uint32_t want = 0;
        if (lane * 12 + 4 * d + 4 <= 256)
          std::memcpy(&want, &m.memory[lane * 12 + 4 * d], 4);
        CHECK(m.row(8 + d)[lane] == want);
      }
    const std::vector<uint8_t> beyond(m.memory.begin() + 256, m.memory.end());
    CHECK(m.run(store) == "");
    CHECK(std::equal(beyond.begin(), beyond.end(), m.memory.begin() + 256));
  }
}

namespace {
/// f(memory, data, compare) on the bits of the width.
struct Atomic {
  const char *gfx9, *later;
  unsigned bits;
  bool compares;
  u64 (*f)(u64 m, u64 x, u64 c);
  char edges; ///< i: integers, f: floats, h: halves, b: bfloats
};
#define BOTH(NAME, LATER, SUFFIX32, SUFFIX64, EXPR32, EXPR64, COMPARES)                            \
  {NAME,                                                                                           \
   LATER SUFFIX32,                                                                                 \
   32,                                                                                             \
   COMPARES,                                                                                       \
   [](u64 m, u64 x, [[maybe_unused]] u64 c) -> u64 { return EXPR32; },                             \
   'i'},                                                                                           \
      {NAME "_x2",                                                                                 \
       LATER SUFFIX64,                                                                             \
       64,                                                                                         \
       COMPARES,                                                                                   \
       [](u64 m, u64 x, [[maybe_unused]] u64 c) -> u64 { return EXPR64; },                         \
       'i'}
#define SAME(NAME, LATER, S32, S64, EXPR) BOTH(NAME, LATER, S32, S64, EXPR, EXPR, false)
const Atomic kAtomics[] = {
    BOTH("swap", "swap", "_b32", "_b64", (void(m), x), (void(m), x), false),
    BOTH("cmpswap", "cmpswap", "_b32", "_b64", m == c ? x : m, m == c ? x : m, true),
    SAME("add", "add", "_u32", "_u64", m + x),
    SAME("sub", "sub", "_u32", "_u64", m - x),
    BOTH("smin", "min", "_i32", "_i64", signedOf<32>(x) < signedOf<32>(m) ? x : m,
         int64_t(x) < int64_t(m) ? x : m, false),
    SAME("umin", "min", "_u32", "_u64", std::min(m, x)),
    BOTH("smax", "max", "_i32", "_i64", signedOf<32>(x) > signedOf<32>(m) ? x : m,
         int64_t(x) > int64_t(m) ? x : m, false),
    SAME("umax", "max", "_u32", "_u64", std::max(m, x)),
    SAME("and", "and", "_b32", "_b64", m &x),
    SAME("or", "or", "_b32", "_b64", m | x),
    SAME("xor", "xor", "_b32", "_b64", m ^ x),
    SAME("inc", "inc", "_u32", "_u64", m >= x ? 0 : m + 1),
    SAME("dec", "dec", "_u32", "_u64", m == 0 || m > x ? x : m - 1),
    {"csub", "csub_u32", 32, false, [](u64 m, u64 x, u64) { return m >= x ? m - x : 0; }, 'i'},
    {"-", "sub_clamp_u32", 32, false, [](u64 m, u64 x, u64) { return m >= x ? m - x : 0; }, 'i'},
    {"-", "cond_sub_u32", 32, false, [](u64 m, u64 x, u64) { return m >= x ? m - x : m; }, 'i'},
    {"add_f32", "add_f32", 32, false, sum<kF32>, 'f'},
    {"add_f64", "-", 64, false, sum<kF64>, 'd'},
    {"fmin", "min_f32", 32, false, extreme<kF32, false>, 'f'},
    {"fmax", "max_f32", 32, false, extreme<kF32, true>, 'f'},
    {"-", "min_num_f32", 32, false, extreme<kF32, false>, 'f'},
    {"-", "max_num_f32", 32, false, extreme<kF32, true>, 'f'},
    {"-", "cmpswap_f32", 32, true,
     [](u64 m, u64 x, u64 c) { return valueOf(kF32, m) == valueOf(kF32, c) ? x : m; }, 'f'},
    {"min_f64", "-", 64, false, extreme<kF64, false>, 'd'},
    {"max_f64", "-", 64, false, extreme<kF64, true>, 'd'},
    {"pk_add_f16", "pk_add_f16", 32, false, sums<kF16>, 'h'},
    {"pk_add_bf16", "pk_add_bf16", 32, false, sums<kBf16>, 'b'},
};
} // namespace

TEST_CASE("opcodes: atomics of vector memory match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const std::string zero = m.gfx12 ? "null" : "0", returning = m.gfx9    ? " sc0"
                                                                 : m.gfx11 ? " glc"
                                                                           : " th:TH_ATOMIC_RETURN";
    struct Entry {
      const Atomic *atomic;
      size_t id;
      bool returns;
    };
    std::vector<Entry> entries;
    for (const Atomic &a : kAtomics) {
      const std::string name = m.gfx9 ? a.gfx9 : a.later;
      if (name == "-")
        continue;
      const std::string out = registers(8, a.bits / 8),
                        data = registers(4, a.bits / 8 * (a.compares ? 2 : 1)),
                        inOut = registers(4, a.bits / 8 * (a.compares ? 2 : 1));
      auto add = [&](const std::string &text, bool returns) {
        entries.push_back({&a, m.add(text), returns});
      };
      add("global_atomic_" + name + " v[2:3], " + data + ", off offset:8", false);
      add("global_atomic_" + name + " " + out + ", v[2:3], " + data + ", off offset:8" + returning,
          true);
      add("flat_atomic_" + name + " v[2:3], " + data + " offset:8", false);
      add("flat_atomic_" + name + " " + out + ", v[2:3], " + data + " offset:8" + returning, true);
      if (m.gfx1250) // its descriptors are others
        continue;
      add("buffer_atomic_" + name + " " + inOut + ", v14, s[16:19], " + zero + " offen offset:8",
          false);
      add("buffer_atomic_" + name + " " + inOut + ", v14, s[16:19], " + zero + " offen offset:8" +
              returning,
          true);
    }
    m.build();
    for (const Entry &e : entries) {
      if (!m.accepted(e.id))
        continue;
      const Atomic &a = *e.atomic;
      const unsigned bytes = a.bits / 8;
      const bool buffer = m.text(e.id).rfind("buffer", 0) == 0;
      for (unsigned round = 0; round < 4; ++round) {
        descriptor(m, 1 << 16);
        u64 memory[64], data[64], compare[64];
        for (unsigned lane = 0; lane < 64; ++lane) {
          const unsigned at = 512 + offsetOf(lane);
          memory[lane] = edge(a.edges, lane + round * 3, a.bits);
          data[lane] = edge(a.edges, lane / 5 + round * 7 + lane, a.bits);
          compare[lane] = lane % 3 ? memory[lane] : edge(a.edges, lane + 5, a.bits);
          std::memcpy(&m.memory[at + 8], &memory[lane], bytes);
          setLane64(m, 2, lane, m.address() + at);
          m.row(14)[lane] = at;
          setLane64(m, 4, lane, data[lane]);
          if (a.compares)
            setLane64(m, 4 + bytes / 4, lane, compare[lane]);
          setLane64(m, 8, lane, 0x1234567855555555);
        }
        m.setMode(0x1f0);
        m.setExec(kExec);
        INFO(target << ": " << m.text(e.id) << " " << m.run(e.id));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          u64 got = 0;
          std::memcpy(&got, &m.memory[512 + offsetOf(lane) + 8], bytes);
          const bool on = kExec >> lane & 1;
          const u64 mask = a.bits == 64 ? ~u64(0) : 0xffffffff;
          const u64 want = on ? a.f(memory[lane], data[lane], compare[lane]) & mask : memory[lane];
          ok = ok && agree(a.edges, got, want);
          if (!e.returns || !on)
            continue;
          const unsigned r = buffer ? 4 : 8;
          const u64 old = (m.row(r)[lane] | u64(m.row(r + 1)[lane]) << 32) & mask;
          ok = ok && old == memory[lane];
        }
        CHECK(ok);
      }
    }
  }
}

TEST_CASE("opcodes: loads to LDS match the reference") {
  struct Form {
    const char *text;
    unsigned bytes;
    bool isSigned;
  };
  static const Form kForms[] = {
      {"global_load_lds_ubyte v[2:3], off offset:4", 1, false},
      {"global_load_lds_sbyte v[2:3], off offset:4", 1, true},
      {"global_load_lds_ushort v[2:3], off offset:4", 2, false},
      {"global_load_lds_sshort v[2:3], off offset:4", 2, true},
      {"global_load_lds_dword v[2:3], off offset:4", 4, false},
      {"global_load_lds_dwordx3 v[2:3], off offset:4", 12, false},
      {"global_load_lds_dwordx4 v[2:3], off offset:4", 16, false},
      {"scratch_load_lds_ubyte v14, off offset:4", 1, false},
      {"scratch_load_lds_sbyte v14, off offset:4", 1, true},
      {"scratch_load_lds_ushort v14, off offset:4", 2, false},
      {"scratch_load_lds_sshort v14, off offset:4", 2, true},
      {"scratch_load_lds_dword v14, off offset:4", 4, false},
      {"buffer_load_ubyte v13, s[16:19], 0 offen offset:4 lds", 1, false},
      {"buffer_load_sbyte v13, s[16:19], 0 offen offset:4 lds", 1, true},
      {"buffer_load_ushort v13, s[16:19], 0 offen offset:4 lds", 2, false},
      {"buffer_load_sshort v13, s[16:19], 0 offen offset:4 lds", 2, true},
      {"buffer_load_dword v13, s[16:19], 0 offen offset:4 lds", 4, false},
      {"buffer_load_dwordx3 v13, s[16:19], 0 offen offset:4 lds", 12, false},
      {"buffer_load_dwordx4 v13, s[16:19], 0 offen offset:4 lds", 16, false},
      {"buffer_load_format_x v13, s[16:19], 0 offen offset:4 lds", 4, false},
  };
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    std::vector<size_t> ids;
    for (const Form &f : kForms)
      ids.push_back(m.add(f.text));
    m.build();
    for (size_t i = 0; i < std::size(kForms); ++i) {
      INFO(target << ": " << kForms[i].text);
      if (!m.accepted(ids[i])) {
        CHECK(((kForms[i].bytes > 4 && !m.gfx950) || (!m.gfx940 && kForms[i].text[0] != 'b')));
        continue;
      }
      scramble(m.memory, 7);
      scramble(m.scratch, 8);
      std::fill(m.lds.begin(), m.lds.end(), 0xee);
      descriptor(m, 1 << 16);
      m.s(19) = 4 | 4 << 12 | 4 << 15; // one component of 32 bits, unsigned
      m.s(124) = 256;                  // M0
      for (unsigned lane = 0; lane < 64; ++lane) {
        setLane64(m, 2, lane, m.address() + 512 + offsetOf(lane));
        m.row(13)[lane] = 512 + offsetOf(lane);
        m.row(14)[lane] = 16;
      }
      m.setExec(kExec);
      CHECK(m.run(ids[i]) == "");
      std::vector<uint8_t> want(m.lds.size(), 0xee);
      for (unsigned lane = 0; lane < 64; ++lane) {
        if (!(kExec >> lane & 1))
          continue;
        const uint8_t *from = kForms[i].text[0] == 's' ? &m.scratch[256 * lane + 20]
                                                       : &m.memory[512 + offsetOf(lane) + 4];
        uint32_t x[4] = {};
        std::memcpy(x, from, kForms[i].bytes);
        const unsigned size = std::max(4u, kForms[i].bytes),
                       up = 32 - 8 * std::min(4u, kForms[i].bytes);
        if (kForms[i].isSigned)
          x[0] = static_cast<uint32_t>(static_cast<int32_t>(x[0] << up) >> up);
        // The instruction's offset counts for both sides.
        std::memcpy(&want[256 + 4 + lane * size], x, size);
      }
      CHECK(m.lds == want);
    }
  }
}

TEST_CASE("opcodes: gfx11 and gfx12: addresses of lanes, register blocks, cache control match the "
          "reference") {
  for (const char *target : {"gfx1100", "gfx1201"}) {
    Machine m(target);
    const size_t load = m.add("global_load_addtid_b32 v8, s[12:13] offset:16"),
                 store = m.add("global_store_addtid_b32 v8, s[12:13] offset:1024"),
                 blockLoad = m.add("global_load_block v[32:63], v[2:3], off offset:4"),
                 blockStore = m.add("global_store_block v[2:3], v[32:63], off offset:4"),
                 scratchStore = m.add("scratch_store_block v14, v[32:63], off"),
                 scratchLoad = m.add("scratch_load_block v[64:95], v14, off");
    std::vector<size_t> cache;
    for (const char *text :
         {"global_inv", "global_wb", "global_wbinv", "buffer_gl0_inv", "buffer_gl1_inv"})
      cache.push_back(m.add(text));
    m.build();
    scramble(m.memory, 11);
    m.setS64(12, m.address());
    m.setExec(kExec);
    CHECK(m.run(load) == "");
    CHECK(m.run(store) == "");
    for (unsigned lane = 0; lane < 32; ++lane)
      if (kExec >> lane & 1) {
        CHECK(std::memcmp(&m.row(8)[lane], &m.memory[16 + 4 * lane], 4) == 0);
        CHECK(std::memcmp(&m.row(8)[lane], &m.memory[1024 + 4 * lane], 4) == 0);
      }
    for (size_t id : cache)
      if (m.accepted(id))
        CHECK(m.run(id) == "");
    if (!m.gfx12)
      continue;
    const uint32_t mask = 0x80f00105;
    m.s(125) = mask;
    for (unsigned lane = 0; lane < 32; ++lane) {
      setLane64(m, 2, lane, m.address() + 512 + 256 * lane);
      m.row(14)[lane] = 64;
    }
    std::fill_n(m.row(32), 64 * 64, 0x77777777u);
    CHECK(m.run(blockLoad) == "");
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned r = 0; kExec >> lane & 1 && r < 32; ++r) {
        uint32_t x;
        std::memcpy(&x, &m.memory[512 + 256 * lane + 4 + 4 * r], 4);
        CHECK(m.row(32 + r)[lane] == (mask >> r & 1 ? x : 0x77777777));
      }
    scramble(m.memory, 12);
    CHECK(m.run(blockStore) == "");
    CHECK(m.run(scratchStore) == "");
    CHECK(m.run(scratchLoad) == "");
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned r = 0; kExec >> lane & 1 && r < 32; ++r)
        if (mask >> r & 1) {
          CHECK(std::memcmp(&m.row(32 + r)[lane], &m.memory[512 + 256 * lane + 4 + 4 * r], 4) == 0);
          CHECK(m.row(64 + r)[lane] == m.row(32 + r)[lane]);
        }
  }
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    std::vector<size_t> ids = {m.add("buffer_wbl2")};
    if (m.gfx940)
      ids.push_back(m.add("buffer_inv"));
    else
      for (const char *text : {"buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"})
        ids.push_back(m.add(text));
    m.build();
    for (size_t id : ids) {
      INFO(target << ": " << m.text(id));
      CHECK((m.accepted(id) && m.run(id).empty()));
    }
  }
}

TEST_CASE("opcodes: gfx12: transposing loads give each lane a column") {
  Machine m("gfx1201");
  const size_t wide = m.add("global_load_tr_b128 v[8:11], v[2:3], off"),
               bytes = m.add("global_load_tr_b64 v[12:13], v[2:3], off");
  m.build();
  scramble(m.memory, 21);
  m.setExec(~u64(0));

  // Halves: in each group of 8 lanes, lane n gets element n of each lane's piece, in lane order
  // (programs that run on gfx1201 say so; one stands in for the load on gfx11 by doing just that).
  for (unsigned lane = 0; lane < 64; ++lane)
    setLane64(m, 2, lane, m.address() + 512 + offsetOf(lane));
  CHECK(m.run(wide) == "");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 8; ++e) {
      uint16_t half;
      std::memcpy(&half, &m.memory[512 + offsetOf(lane / 8 * 8 + e) + 2 * (lane % 8)], 2);
      CHECK((m.row(8 + e / 2)[lane] >> 16 * (e % 2) & 0xffff) == half);
    }

  // Bytes, with lane l at 8 l: the place of element e of lane l, found on gfx1201 (llama.cpp's
  // rdna4_fp8_gemm, global_load_tr_contract.md).
  for (unsigned lane = 0; lane < 64; ++lane)
    setLane64(m, 2, lane, m.address() + 512 + 8 * lane);
  CHECK(m.run(bytes) == "");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 8; ++e) {
      const unsigned place =
          lane % 8 + lane / 8 % 2 * 32 + lane / 16 * 128 + e % 4 * 8 + e / 4 * 64;
      CHECK((m.row(12 + e / 4)[lane] >> 8 * (e % 4) & 0xff) == m.memory[512 + place]);
    }

  // The same as a program uses it: a 16 x 16 tile of rows of 16 bytes becomes an operand of WMMA,
  // lane l holding rows 8 (l / 16) ... of column l % 16.
  for (unsigned lane = 0; lane < 64; ++lane)
    setLane64(m, 2, lane,
              m.address() + 512 + 16 * (lane % 32 / 8 * 4 + lane % 4) + lane / 4 % 2 * 8);
  CHECK(m.run(bytes) == "");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 8; ++e)
      CHECK((m.row(12 + e / 4)[lane] >> 8 * (e % 4) & 0xff) ==
            m.memory[512 + 16 * (8 * (lane / 16) + e) + lane % 16]);
}

} // namespace flyemu::test
