// Typed buffer loads and stores: every format that LLVM's assembler has a name for.
#include "machine.h"
#include "numbers.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
using i64 = int64_t;

/// A data format: the components' bits, the first component lowest.
struct Data {
  const char *name;
  std::vector<unsigned> bits;
  unsigned gfx9; ///< its number in a gfx9 descriptor
};
const std::vector<Data> &dataFormats() {
  static const std::vector<Data> all = {{"8", {8}, 1},
                                        {"16", {16}, 2},
                                        {"8_8", {8, 8}, 3},
                                        {"32", {32}, 4},
                                        {"16_16", {16, 16}, 5},
                                        {"10_11_11", {11, 11, 10}, 6},
                                        {"11_11_10", {10, 11, 11}, 7},
                                        {"10_10_10_2", {2, 10, 10, 10}, 8},
                                        {"2_10_10_10", {10, 10, 10, 2}, 9},
                                        {"8_8_8_8", {8, 8, 8, 8}, 10},
                                        {"32_32", {32, 32}, 11},
                                        {"16_16_16_16", {16, 16, 16, 16}, 12},
                                        {"32_32_32", {32, 32, 32}, 13},
                                        {"32_32_32_32", {32, 32, 32, 32}, 14}};
  return all;
}
struct Number {
  const char *name;
  unsigned gfx9;
};
constexpr Number kNumbers[] = {{"UNORM", 0}, {"SNORM", 1}, {"USCALED", 2}, {"SSCALED", 3},
                               {"UINT", 4},  {"SINT", 5},  {"FLOAT", 7}};

u64 single(double x) { return roundTo(kF32, x); }
bool isInteger(const std::string &number) { return number == "UINT" || number == "SINT"; }
/// A component as a register has it.
u64 read(const std::string &number, u64 x, unsigned bits) {
  const i64 s = i64(x << (64 - bits)) >> (64 - bits);
  const double top = std::ldexp(1.0, int(bits)) - 1, half = std::ldexp(1.0, int(bits) - 1) - 1;
  if (number == "UNORM")
    return single(double(x) / top);
  if (number == "SNORM")
    return single(std::max(double(s) / half, -1.0));
  if (number == "USCALED")
    return single(double(x));
  if (number == "SSCALED")
    return single(double(s));
  if (number == "UINT")
    return x;
  if (number == "SINT")
    return u64(s) & 0xffffffff;
  if (bits == 32)
    return x;
  if (bits == 16)
    return roundTo(kF32, valueOf(kF16, x));
  // Without a sign: the code of a half, cut below.
  return roundTo(kF32, valueOf(kF16, x << (bits == 11 ? 4 : 5)));
}
struct Word {
  u64 low = 0, high = 0;
  u64 field(unsigned at, unsigned bits) const {
    const u64 x = at >= 64 ? high >> (at - 64) : at == 0 ? low : low >> at | high << (64 - at);
    return x & ((u64(1) << bits) - 1);
  }
};
bool same(u64 a, u64 b) { return a == b || (isNan(kF32, a) && isNan(kF32, b)); }
bool sameHalf(u64 a, u64 b) { return a == b || (isNan(kF16, a) && isNan(kF16, b)); }
const char *const kParts[] = {"x", "xy", "xyz", "xyzw"};

void descriptor(Machine &m, uint32_t format) {
  m.setS64(16, m.address());
  m.s(18) = 1 << 16;
  m.s(19) = 4 | 5 << 3 | 6 << 6 | 7 << 9 | format; // x, y, z, w
}
} // namespace

// gfx1250 has no typed buffers.
TEST_CASE("opcodes: typed buffer loads and stores match the reference") {
  for (const char *target : kEmulatedTargets) {
    Machine m(target);
    const std::string zero = m.gfx12 ? "null" : "0";
    struct Entry {
      const Data *data;
      std::string number;
      unsigned gfx9;
      size_t load[4], store[4], narrow[4], narrowStore[4];
    };
    std::vector<Entry> entries;
    for (const Data &d : dataFormats())
      for (const Number &n : kNumbers) {
        const std::string format =
            m.gfx9 ? std::string(" format:[BUF_DATA_FORMAT_") + d.name + ",BUF_NUM_FORMAT_" +
                         n.name + "]"
                   : std::string(" format:[BUF_FMT_") + d.name + "_" + n.name + "]";
        Entry e{&d, n.name, d.gfx9 | n.gfx9 << 4, {}, {}, {}, {}};
        for (unsigned k = 0; k < 4; ++k) {
          auto text = [&](const char *op, bool narrow) {
            const unsigned count = narrow ? k / 2 + 1 : k + 1;
            const std::string data = count == 1 ? "v8" : "v[8:" + std::to_string(7 + count) + "]";
            const std::string middle =
                narrow ? (m.gfx9 ? "_format_d16_" : "_d16_format_") : "_format_";
            return std::string("tbuffer_") + op + middle + kParts[k] + " " + data +
                   ", v2, s[16:19], " + zero + format + " offen";
          };
          e.load[k] = m.add(text("load", false));
          e.store[k] = m.add(text("store", false));
          e.narrow[k] = m.add(text("load", true));
          e.narrowStore[k] = m.add(text("store", true));
        }
        entries.push_back(e);
      }
    m.build();
    unsigned tried = 0;
    for (const Entry &e : entries) {
      // Formats that do not exist: gfx11 has no name for them. On gfx9 all pairs have names; scaled
      // and normalised 32 bits, and floats of odd sizes, are left to the format table's own rules.
      const bool odd = e.data->bits[0] == 32 ? !isInteger(e.number) && e.number != "FLOAT"
                       : e.data->bits[0] % 8 != 0 && e.data->bits.size() == 3
                           ? e.number != "FLOAT"
                           : e.number == "FLOAT" && e.data->bits[0] != 16;
      if (odd || !m.accepted(e.load[0]))
        continue;
      ++tried;
      m.setMode(0x1f0);
      m.setExec(~u64(0));
      descriptor(m, 0);
      unsigned seed = 5;
      for (uint8_t &b : m.memory) {
        seed = seed * 1103515245 + 12345;
        b = static_cast<uint8_t>(seed >> 16);
      }
      for (unsigned lane = 0; lane < 64; ++lane)
        m.row(2)[lane] = lane * 16;
      auto component = [&](unsigned lane, unsigned k) {
        if (k >= e.data->bits.size())
          return k == 3 ? (isInteger(e.number) ? u64(1) : u64(0x3f800000)) : u64(0);
        Word w;
        std::memcpy(&w, &m.memory[lane * 16], 16);
        unsigned at = 0;
        for (unsigned c = 0; c < k; ++c)
          at += e.data->bits[c];
        return read(e.number, w.field(at, e.data->bits[k]), e.data->bits[k]);
      };
      for (unsigned k = 0; k < 4; ++k) {
        INFO(target << ": " << m.text(e.load[k]) << " " << m.run(e.load[k]));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane)
          for (unsigned c = 0; c <= k; ++c)
            ok = ok && same(m.row(8 + c)[lane], component(lane, c));
        CHECK(ok);
      }
      for (unsigned k = 0; k < 4; ++k) {
        std::fill_n(m.row(8), 128, 0x12345678u);
        INFO(target << ": " << m.text(e.narrow[k]) << " " << m.run(e.narrow[k]));
        REQUIRE(m.accepted(e.narrow[k]));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          for (unsigned c = 0; c <= k; ++c) {
            const u64 x = component(lane, c),
                      got = m.row(8 + c / 2)[lane] >> (c % 2 ? 16 : 0) & 0xffff;
            ok = ok &&
                 sameHalf(got, isInteger(e.number) ? x & 0xffff : roundTo(kF16, valueOf(kF32, x)));
          }
          if (k % 2 == 0) // the other half stays
            ok = ok && m.row(8 + k / 2)[lane] >> 16 == 0x1234;
        }
        CHECK(ok);
      }
      // What all components were loaded as comes back to the same bytes when it is stored.
      const std::vector<uint8_t> before = m.memory;
      CHECK(m.run(e.load[3]) == "");
      std::fill(m.memory.begin(), m.memory.end(), uint8_t(0));
      INFO(target << ": " << m.text(e.store[3]) << " " << m.run(e.store[3]));
      bool ok = true;
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        for (unsigned k = 0; k < e.data->bits.size(); ++k) {
          const u64 loaded = m.row(8 + k)[lane];
          // -1 has two codes in SNORM; NaNs of small floats may differ.
          ok = ok && same(component(lane, k), loaded);
        }
      CHECK(ok);
      for (unsigned k = 0; k < 3; ++k)
        CHECK(m.run(e.store[k]) == "");
      // The narrow stores: halves, or 16-bit integers.
      m.memory = before;
      CHECK(m.run(e.narrow[3]) == "");
      const std::vector<uint32_t> narrow(m.row(8), m.row(10));
      std::fill(m.memory.begin(), m.memory.end(), uint8_t(0));
      for (unsigned k = 0; k < 4; ++k)
        CHECK(m.run(e.narrowStore[k]) == "");
      CHECK(m.run(e.narrow[3]) == "");
      if (*std::max_element(e.data->bits.begin(), e.data->bits.end()) <= 10)
        CHECK(std::equal(narrow.begin(), narrow.begin() + m.lanes, m.row(8)));
    }
    CHECK(tried >= 40);
  }
}

TEST_CASE("opcodes: buffer loads and stores in the descriptor's format match the reference") {
  for (const char *target : kEmulatedTargets) {
    Machine m(target);
    const std::string zero = m.gfx12 ? "null" : "0", d16 = m.gfx9 ? "_format_d16_" : "_d16_format_",
                      hi = m.gfx9 ? "_format_d16_hi_x" : "_d16_hi_format_x";
    std::vector<size_t> loads, stores, narrow, narrowStores;
    for (unsigned k = 0; k < 4; ++k) {
      auto text = [&](const char *op, bool isNarrow) {
        const unsigned count = isNarrow ? k / 2 + 1 : k + 1;
        return std::string("buffer_") + op + (isNarrow ? d16 : "_format_") + kParts[k] + " " +
               (count == 1 ? "v8" : "v[8:" + std::to_string(7 + count) + "]") + ", v2, s[16:19], " +
               zero + " offen";
      };
      loads.push_back(m.add(text("load", false)));
      stores.push_back(m.add(text("store", false)));
      narrow.push_back(m.add(text("load", true)));
      narrowStores.push_back(m.add(text("store", true)));
    }
    const size_t high = m.add("buffer_load" + hi + " v8, v2, s[16:19], " + zero + " offen"),
                 highStore = m.add("buffer_store" + hi + " v8, v2, s[16:19], " + zero + " offen");
    m.build();
    // 8_8_8_8 of unsigned integers: data format 10 and number format 4, or 46 in one code.
    descriptor(m, m.gfx9 ? 4u << 12 | 10u << 15 : 46u << 12);
    m.setExec(~u64(0));
    for (unsigned k = 0; k < m.memory.size(); ++k)
      m.memory[k] = static_cast<uint8_t>(k * 7 + 3);
    for (unsigned lane = 0; lane < 64; ++lane)
      m.row(2)[lane] = lane * 4;
    for (unsigned k = 0; k < 4; ++k) {
      INFO(target << ": " << m.text(loads[k]) << " " << m.run(loads[k]));
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        for (unsigned c = 0; c <= k; ++c)
          CHECK(m.row(8 + c)[lane] == m.memory[lane * 4 + c]);
      std::fill_n(m.row(8), 128, 0u);
      INFO(m.text(narrow[k]) << " " << m.run(narrow[k]));
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        for (unsigned c = 0; c <= k; ++c)
          CHECK((m.row(8 + c / 2)[lane] >> (c % 2 ? 16 : 0) & 0xffff) == m.memory[lane * 4 + c]);
    }
    std::fill_n(m.row(8), 64, 0x5555u);
    CHECK(m.run(high) == "");
    CHECK(m.row(8)[3] == (uint32_t(m.memory[12]) << 16 | 0x5555));
    std::fill_n(m.row(8), 64, 0x00990011u);
    CHECK(m.run(highStore) == "");
    CHECK(m.memory[12] == 0x99);
    for (unsigned k = 0; k < 4; ++k) {
      for (unsigned c = 0; c < 4; ++c)
        std::fill_n(m.row(8 + c), 64, 0x20 + c);
      CHECK(m.run(stores[k]) == "");
      CHECK(m.memory[20 + k] == 0x20 + k);
      std::fill_n(m.row(8), 64, 0x00410040u);
      std::fill_n(m.row(9), 64, 0x00430042u);
      CHECK(m.run(narrowStores[k]) == "");
      CHECK(m.memory[20 + k] == 0x40 + k);
    }
    // The descriptor's selectors: constants, and other components.
    m.s(19) = (m.s(19) & ~0xfffu) | 7 | 0 << 3 | 1 << 6 | 4 << 9;
    m.memory[0] = 11;
    m.memory[3] = 44;
    CHECK(m.run(loads[3]) == "");
    CHECK((m.row(8)[0] == 44 && m.row(9)[0] == 0 && m.row(10)[0] == 1 && m.row(11)[0] == 11));
    // A format that does not exist is said to be so.
    m.s(19) = m.gfx9 ? 15u << 15 : 0;
    CHECK(m.run(loads[0]).find("format") != std::string::npos);
  }
}

} // namespace flyemu::test
