// gfx1250's tensor data mover against a reference that goes from element to element, and what it
// refuses.
#include "wave_test.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <functional>
#include <random>

using namespace flyemu;
using namespace flyemu::test;

namespace {
constexpr uint32_t kTensor = 1024,    ///< where the tensor begins in the test's memory
    kLds = 4096, kLdsCopy = 64 << 10, ///< where LDS is copied to at the end
    kMemory = kLdsCopy + kLds;
constexpr uint8_t kUntouched = 0xee; ///< LDS's bytes at the beginning

/// A descriptor by the words of AMD's HIP header (amd_gfx1250_TDM.h). Dimension 0 is the innermost.
struct Box {
  unsigned rank = 2, log2Bytes = 1;
  std::array<uint32_t, 5> box = {}, tensor = {};
  std::array<uint64_t, 5> stride = {1};
  uint32_t lds = 0;
  unsigned padInterval = 0, padAmount = 0; ///< codes; both 0: no padding
  std::vector<uint32_t> rows;              ///< of a gather
  bool wideRows = false;

  unsigned bytes() const { return 1u << log2Bytes; }
  bool hasAll() const { return rank > 2 || !rows.empty(); } ///< all four groups
  std::array<uint32_t, 20> words() const {
    std::array<uint32_t, 20> w = {};
    w[0] = 1 | (rows.empty() ? 0 : 1u << 31 | uint32_t(wideRows) << 30);
    w[1] = lds;
    w[3] = 2u << 30;
    w[4] = log2Bytes << 16;
    if (padInterval)
      w[4] |= 1u << 20 | padInterval << 22 | padAmount << 25;
    w[5] = tensor[0] << 16;
    w[6] = tensor[0] >> 16 | tensor[1] << 16;
    w[7] = tensor[1] >> 16 | box[0] << 16;
    w[8] = (rows.empty() ? box[1] : uint32_t(rows.size())) | box[2] << 16;
    w[9] = uint32_t(stride[1]);
    w[10] = uint32_t(stride[1] >> 32) | uint32_t(stride[2]) << 16;
    w[11] = uint32_t(stride[2] >> 16);
    w[12] = tensor[2];
    w[13] = tensor[3];
    w[14] = uint32_t(stride[3]);
    w[15] = uint32_t(stride[3] >> 32) | box[3] << 16;
    w[16] = uint32_t(stride[4]);
    w[17] = uint32_t(stride[4] >> 32) | tensor[4] << 16;
    w[18] = tensor[4] >> 16 | box[4] << 16;
    for (size_t k = 0; k < rows.size(); ++k)
      if (wideRows)
        w[12 + k] = rows[k];
      else
        w[12 + k / 2] = (k % 2 ? w[12 + k / 2] : 0) | rows[k] << (k % 2 * 16);
    return w;
  }
};

using Words = std::array<uint32_t, 20>;

/// Memory of numbered bytes, and LDS of kUntouched.
WaveRun prepared(const Words &words) {
  WaveRun w("gfx1250");
  w.memory.resize(kMemory);
  for (uint32_t i = 0; i < kLdsCopy; ++i)
    w.memory[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  w.lds = kLds;
  w.v = {{1, iota(0x01010101u * kUntouched, 0)}, {5, iota(0, 16)}};
  for (unsigned k = 0; k < words.size(); ++k)
    w.s[8 + k] = words[k];
  return w;
}

const std::string kFill = [] {
  std::string text = "v_mov_b32 v12, v1\nv_mov_b32 v13, v1\nv_mov_b32 v14, v1\nv_mov_b32 v15, v1\n";
  for (uint32_t at = 0; at < kLds; at += 512)
    text += "ds_store_b128 v5, v[12:15] offset:" + std::to_string(at) + "\n";
  return text + "s_wait_dscnt 0\n";
}();
/// The tensor's address to the descriptor.
const std::string kAddress = "s_add_co_u32 s10, s2, " + std::to_string(kTensor) +
                             "\ns_add_co_ci_u32 s4, s3, 0\ns_or_b32 s11, s11, s4\n";
const std::string kCopyOut = [] {
  std::string text =
      "s_mov_b32 exec_lo, -1\nv_add_nc_u32 v6, " + std::to_string(kLdsCopy) + ", v5\n";
  for (uint32_t at = 0; at < kLds; at += 512)
    text += "ds_load_b128 v[8:11], v5 offset:" + std::to_string(at) + "\ns_wait_dscnt 0\n" +
            "global_store_b128 v6, v[8:11], s[2:3] offset:" + std::to_string(at) + "\n";
  return text;
}();
std::string load(bool hasAll) {
  return std::string("tensor_load_to_lds s[8:11], s[12:19]") +
         (hasAll ? ", s[20:23], s[24:27]\n" : "\n");
}
std::string store(bool hasAll) {
  return std::string("tensor_store_from_lds s[8:11], s[12:19]") +
         (hasAll ? ", s[20:23], s[24:27]\n" : "\n");
}
const std::string kWait = "s_wait_tensorcnt 0\n";

/// Calls visit(byte in LDS, byte in memory, inside) for each element of the box.
void eachElement(const Box &b, bool isLoad,
                 const std::function<void(uint32_t, uint64_t, bool)> &visit) {
  uint32_t passed = 0;
  const uint32_t rows = b.rows.empty() ? b.box[1] : uint32_t(b.rows.size());
  auto extent = [&](unsigned d) {
    return d == 1 ? (b.rank > 1 ? rows : 1) : d < b.rank ? b.box[d] : 1;
  };
  std::array<uint32_t, 5> at = {};
  for (at[4] = 0; at[4] < extent(4); ++at[4])
    for (at[3] = 0; at[3] < extent(3); ++at[3])
      for (at[2] = 0; at[2] < extent(2); ++at[2])
        for (at[1] = 0; at[1] < extent(1); ++at[1])
          for (at[0] = 0; at[0] < extent(0); ++at[0], passed += b.bytes()) {
            uint64_t element = 0;
            bool inside = true;
            for (unsigned d = 0; d < b.rank; ++d) {
              const uint32_t coordinate = d == 1 && !b.rows.empty() ? b.rows[at[1]] : at[d];
              element += coordinate * b.stride[d];
              inside &= coordinate < b.tensor[d];
            }
            uint32_t place = b.lds + passed;
            if (isLoad && b.padInterval) // dwords, as LLVM's amdgpu dialect counts them
              place += passed / 4 / (2u << b.padInterval) * 4 * (b.padAmount + 1);
            visit(place, kTensor + element * b.bytes(), inside);
          }
}

void checkLoad(const Box &b) {
  WaveRun w = prepared(b.words());
  const std::vector<uint8_t> before = w.memory;
  w.exec = 0x10; // of no effect
  w.run("s_mov_b32 exec_lo, -1\n" + kFill + kAddress + "s_mov_b32 exec_lo, 0\n" + load(b.hasAll()) +
        kWait + kCopyOut);
  std::vector<uint8_t> lds(kLds, kUntouched);
  eachElement(b, true, [&](uint32_t place, uint64_t at, bool inside) {
    for (unsigned k = 0; k < b.bytes(); ++k)
      lds[place + k] = inside ? before[at + k] : 0;
  });
  unsigned wrong = 0;
  for (uint32_t i = 0; i < kLds; ++i)
    wrong += w.memory[kLdsCopy + i] != lds[i];
  CHECK(wrong == 0);
}

void checkStore(const Box &b) {
  WaveRun w = prepared(b.words());
  std::vector<uint8_t> right = w.memory;
  // LDS gets memory's first bytes.
  std::string fill = "v_mov_b32 v7, v5\n";
  for (uint32_t at = 0; at < kLds; at += 512)
    fill += "global_load_b128 v[8:11], v5, s[2:3] offset:" + std::to_string(at) +
            "\ns_wait_loadcnt 0\nds_store_b128 v5, v[8:11] offset:" + std::to_string(at) + "\n";
  w.run(fill + "s_wait_dscnt 0\n" + kAddress + store(b.hasAll()) + kWait);
  const std::vector<uint8_t> lds(right.begin(), right.begin() + kLds);
  eachElement(b, false, [&](uint32_t place, uint64_t at, bool inside) {
    for (unsigned k = 0; inside && k < b.bytes(); ++k)
      right[at + k] = lds[place + k];
  });
  unsigned wrong = 0;
  for (uint32_t i = 0; i < kLdsCopy; ++i)
    wrong += w.memory[i] != right[i];
  CHECK(wrong == 0);
}

/// Boxes of all ranks and widths. Some reach out of their tensor.
template <class Check> void eachBox(Check check) {
  std::mt19937 random(11);
  auto between = [&](unsigned low, unsigned high) { return low + random() % (high - low + 1); };
  for (unsigned rank = 1; rank <= 5; ++rank)
    for (unsigned log2Bytes = 0; log2Bytes < 4; ++log2Bytes) {
      Box b;
      b.rank = rank;
      b.log2Bytes = log2Bytes;
      b.lds = 16 * between(0, 8);
      const unsigned most[] = {rank == 1 ? 100u : 24u, rank == 2 ? 9u : 4u, 3, 2, 2};
      uint64_t next = 1;
      for (unsigned d = 0; d < rank; ++d) {
        b.box[d] = between(1, most[d]);
        b.tensor[d] = between(d == 1 ? 1 : b.box[d] / 2 + 1, b.box[d] + 2);
        b.stride[d] = next;
        next = next * (b.tensor[d] + between(0, 2));
      }
      if (between(0, 1)) {
        b.box[0] = (b.box[0] * b.bytes() + 3) / 4 * 4 / b.bytes();
        if (b.box[0] * b.bytes() % 4 == 0 && b.box[0]) {
          b.padInterval = between(1, 4);
          b.padAmount = between(1, 3);
        }
      }
      INFO("rank " << rank << ", " << b.bytes() << " bytes, box " << b.box[0] << " x " << b.box[1]
                   << " x " << b.box[2] << ", tensor " << b.tensor[0] << " x " << b.tensor[1]
                   << ", padding " << b.padInterval << ", " << b.padAmount);
      check(b);
    }
}

std::string findings(const WaveRun &w) {
  std::string all;
  for (const Finding &f : w.result.findings)
    all += f.message + "\n";
  return all;
}

Box small() {
  Box b;
  b.box = {32, 4};
  b.tensor = {32, 4};
  b.stride = {1, 64};
  return b;
}
} // namespace

TEST_CASE("gfx1250: the tensor data mover loads boxes of 1 to 5 dimensions, zeros out of range") {
  eachBox(checkLoad);
}

TEST_CASE("gfx1250: the tensor data mover stores boxes, and nothing out of range") {
  eachBox(checkStore);
}

TEST_CASE("gfx1250: descriptors are those that LLVM's amdgpu dialect makes") {
  // mlir-opt 22, --convert-amdgpu-to-rocdl=chipset=gfx1250, of amdgpu.make_dma_descriptor with
  // globalSize [3, 100, 50] globalStride [7000, 70, 1] sharedSize [4, 16, 32] padShared(4 every 16),
  // of f16: its constants, and 3 for the interval's exponent less one, 3 for the amount less one.
  const Words dialect = {1,
                         0,
                         0,
                         2147483648u,
                         1114112 | 3 << 22 | 3 << 25,
                         3276800,
                         6553600,
                         2097152,
                         262160,
                         70,
                         7000u << 16,
                         0,
                         3,
                         0};
  Box b;
  b.rank = 3;
  b.box = {32, 16, 4};
  b.tensor = {50, 100, 3};
  b.stride = {1, 70, 7000};
  b.padInterval = 3;
  b.padAmount = 3;
  CHECK(b.words() == dialect);
  b.stride = {1, 70, 900};
  b.box = {32, 4, 4};
  checkLoad(b);
}

TEST_CASE("gfx1250: the tensor data mover gathers and scatters rows by numbers of 16 and 32 bits") {
  for (bool wide : {false, true}) {
    Box b = small();
    b.tensor = {30, 40};
    b.wideRows = wide;
    b.rows = {3, 3, 39, 0, 17};
    if (!wide)
      b.rows.insert(b.rows.end(), {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    checkLoad(b);
    // Out of range are those at the end of an ascending list.
    b.rows = {0, 7, 39, 40, 300};
    checkLoad(b);
    checkStore(b);
  }
}

TEST_CASE("gfx1250: a tensor move with a count of 0, or of no elements, does nothing") {
  for (unsigned word : {0u, 7u}) {
    Words words = small().words();
    words[word] = word ? words[word] & 0xffff : 0;
    WaveRun w = prepared(words);
    w.run(kFill + kAddress + load(false) + kWait + kCopyOut);
    CHECK(std::count(w.memory.begin() + kLdsCopy, w.memory.end(), kUntouched) == kLds);
  }
}

TEST_CASE("gfx1250: descriptors that mean nothing, or whose meaning is not known, are refused") {
  struct Case {
    const char *what;
    unsigned word;
    uint32_t clear, set;
  };
  const Case cases[] = {
      {"with a count of 2", 0, 3, 2},
      {"with bits 2 to 29 set", 0, 0, 1 << 3},
      {"with row numbers of 32 bits, and without a gather", 0, 0, 1 << 30},
      {"that gathers 17 rows by numbers of 16 bits; it has room for 1 to 16", 8, 0xffff, 17},
      {"of type 0", 3, 3u << 30, 0},
      {"that signals a barrier in LDS", 4, 0, 1 << 18},
      {"that iterates", 4, 0, 1 << 19},
      {"the code 2 of its interval and 0 of its amount", 4, 0, 1 << 20 | 2 << 22},
      {"with padding and rows of 62 bytes", 7, 0xffffu << 16, 31u << 16},
      {"for workgroups of a cluster, in a launch without clusters", 4, 0, 2},
      {"no extent along dimension 1", 8, 0, 0xffff0000u},
      {"no multiple of its elements' 2 bytes", 1, 0, 1},
      {"lies in LDS up to byte 4128, and the workgroup has 4096", 1, 0, 4064},
  };
  for (const Case &c : cases) {
    Box b = small();
    if (c.word == 8 && c.clear)
      b.rows = {0};
    Words words = b.words();
    if (c.word == 7)
      words[4] |= 1 << 20 | 1 << 22 | 1 << 25;
    if (c.word == 8 && !c.clear)
      words[8] = 0;
    words[c.word] = (words[c.word] & ~c.clear) | c.set;
    WaveRun w = prepared(words);
    w.run(kAddress + load(!b.rows.empty()) + kWait, true);
    INFO(c.what);
    CHECK_FALSE(w.result.ok);
    CHECK_THAT(w.result.fault.message, Catch::Contains(c.what));
  }
  Box unsorted = small();
  unsorted.rows = {5, 0};
  WaveRun w = prepared(unsorted.words());
  w.run(kAddress + load(true) + kWait, true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("numbers that are not in ascending order"));
  Box outside = small();
  outside.stride[1] = 1 << 28;
  w = prepared(outside.words());
  w.run(kAddress + load(false) + kWait, true);
  CHECK_THAT(w.result.fault.message, Catch::Contains("read of 64 bytes outside of any allocation"));
}

TEST_CASE("gfx1250: tensorcnt alone waits for tensor moves, in their order") {
  Box b = small();
  const std::string two = load(false) + "s_add_co_u32 s9, s9, 0x400\n" +
                          load(false), // to bytes 0 and 1024
      read = "ds_load_b32 v9, v2\ns_wait_dscnt 0\n";
  const auto check = [&](const std::string &text) {
    WaveRun w = prepared(b.words());
    w.v = {{2, iota(0, 4)}, {3, iota(5)}};
    w.checks = kCheckWait;
    w.landLate = true;
    w.readV = {9};
    w.run(kAddress + text);
    return w;
  };
  for (const char *wait :
       {"", "s_wait_asynccnt 0\ns_wait_loadcnt 0\ns_wait_dscnt 0\n", "s_wait_tensorcnt 2\n"}) {
    INFO(wait);
    CHECK_THAT(findings(check(two + wait + read)),
               Catch::Contains("LDS byte 0 is read while a load to it is under way, for which "
                               "tensorcnt(1) would wait"));
  }
  WaveRun right = check(two + "s_wait_tensorcnt 1\n" + read);
  CHECK(findings(right) == "");
  uint32_t first;
  std::memcpy(&first, right.memory.data() + kTensor, 4);
  CHECK(right.outV[9][0] == first);
  // What a store reads may not be written before it has ended.
  const std::string write = "ds_store_b32 v2, v3\ns_wait_dscnt 0\n";
  CHECK_THAT(
      findings(check(write + store(false) + "s_wait_dscnt 0\n" + write)),
      Catch::Contains("LDS byte 0 is written while a copy from it to memory is under way, for "
                      "which tensorcnt(0) would wait"));
  CHECK_THAT(
      findings(check(write + store(false) + load(false))),
      Catch::Contains("LDS byte 0 is loaded to while a copy from it to memory is under way"));
  CHECK(findings(check(write + store(false) + kWait + write)) == "");
  const std::string copy = "global_store_async_from_lds_b32 v2, v2, s[2:3]\n";
  CHECK_THAT(
      findings(check(write + copy + write)),
      Catch::Contains("LDS byte 0 is written while a copy from it to memory is under way, for "
                      "which asynccnt(0) would wait"));
  CHECK(findings(check(write + copy + "s_wait_asynccnt 0\n" + write)) == "");
}

TEST_CASE("gfx1250: what a tensor move reads and writes is seen by the checks and the counters") {
  Box b = small();
  WaveRun w = prepared(b.words());
  w.checks = kCheckInit;
  w.run(kAddress + store(false) + kWait);
  CHECK_THAT(findings(w), Catch::Contains("read of LDS byte 0, which was never written"));
  w = prepared(b.words());
  w.checks = kCheckInit;
  w.run("tensor_load_to_lds s[44:47], s[12:19]\n" + kWait, true);
  CHECK_THAT(findings(w),
             Catch::Contains("a scalar register that was never written is used in group "
                             "0 of a descriptor"));
  w = prepared(b.words());
  w.checks = kCheckRaceSame;
  w.waves = 2;
  w.run(kAddress + load(false) + kWait);
  CHECK_THAT(findings(w), Catch::Contains("write and write of LDS byte 0 are not ordered"));
  w = prepared(b.words());
  w.counters = true;
  w.run(kAddress + load(false) + kWait);
  CHECK(w.result.counters.ldsBytes == 256);
  CHECK(w.result.counters.SQ_LDS_BANK_CONFLICT == 0);
  CHECK(w.result.counters.globalBytesRead >= 256);
}
