// Matrix instructions of gfx1250 against plain sums over the layouts that two sources agree on: the
// halves of the wave have alternate runs of K, of 16 bytes, or of 32 elements below 8 bits; the
// results' rows are eight to a half. The harness gives registers v0 to v39.
#include "wave_test.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>

using namespace flyemu;
using namespace flyemu::test;

namespace {
uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352d;
  x ^= x >> 15;
  x *= 0x846ca68b;
  return x ^ x >> 16;
}
Lanes noise(unsigned seed) {
  Lanes l;
  for (unsigned i = 0; i < 64; ++i)
    l[i] = mix(seed * 64 + i + 1);
  return l;
}

/// Where element (row, k) of A or B is: in runs of K that alternate between the halves.
uint32_t element(const std::map<unsigned, Lanes> &v, unsigned first, unsigned row, unsigned k,
                 unsigned run, unsigned bits) {
  const unsigned lane = row + 16 * (k / run % 2), at = (k / (2 * run) * run + k % run) * bits;
  return v.at(first + at / 32).at(lane) >> at % 32 & ((uint64_t(1) << bits) - 1);
}
double small(uint32_t x, unsigned exponentBits, unsigned mantissaBits, int bias) {
  const uint32_t m = x & ((1u << mantissaBits) - 1),
                 e = x >> mantissaBits & ((1u << exponentBits) - 1);
  const double magnitude =
      e ? std::ldexp(double(m | 1u << mantissaBits), int(e) - bias - int(mantissaBits))
        : std::ldexp(double(m), 1 - bias - int(mantissaBits));
  return x >> (exponentBits + mantissaBits) & 1 ? -magnitude : magnitude;
}
double half(uint32_t x) { return small(x, 5, 10, 15); }
double fp8(uint32_t x) { return small(x, 4, 3, 7); }
double fp4(uint32_t x) { return small(x, 2, 1, 1); }

/// Element (row, column) of 16 x 16 results of f32.
float result(const WaveRun &w, unsigned first, unsigned row, unsigned column) {
  return std::bit_cast<float>(w.outV.at(first + row % 8).at(column + 16 * (row / 8)));
}
/// Zeros in registers, and a request to read them.
void results(WaveRun &w, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count; ++r) {
    w.v[r].fill(0);
    w.readV.push_back(r);
  }
}
} // namespace

TEST_CASE("gfx1250: WMMA 16x16x32 f16, and its third operand's signs") {
  WaveRun w("gfx1250");
  for (unsigned r = 8; r < 24; ++r) {
    w.v[r] = noise(r);
    for (uint32_t &x : w.v[r]) // of 2^-3 to 2^4
      x = (x & 0x83ff83ff) | ((12 + (x >> 10 & 7)) << 10) | ((12 + (x >> 26 & 7)) << 26);
  }
  results(w, 0, 8);
  for (unsigned r = 0; r < 8; ++r)
    w.v[r].fill(std::bit_cast<uint32_t>(3.0f));
  w.run("v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7] neg_lo:[0,0,1]");
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      double sum = -3;
      for (unsigned k = 0; k < 32; ++k)
        sum += half(element(w.v, 8, row, k, 8, 16)) * half(element(w.v, 16, column, k, 8, 16));
      CHECK(result(w, 0, row, column) == Approx(sum).epsilon(1e-6).margin(1e-5));
    }
}

TEST_CASE("gfx1250: WMMA 16x16x4 f32, 16x16x64 iu8 and 16x16x64 fp8") {
  WaveRun w("gfx1250");
  for (unsigned r = 8; r < 24; ++r) {
    w.v[r] = noise(r);
    for (uint32_t &x : w.v[r]) // small floats, and bytes that are no NaN of fp8
      x = (x & 0x80ff7f7f) | 0x3f000000;
  }
  results(w, 0, 8);
  w.run("v_wmma_f32_16x16x4_f32 v[0:7], v[8:9], v[10:11], v[0:7]");
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      double sum = 0;
      for (unsigned k = 0; k < 4; ++k)
        sum += double(std::bit_cast<float>(element(w.v, 8, row, k, 2, 32))) *
               std::bit_cast<float>(element(w.v, 10, column, k, 2, 32));
      CHECK(result(w, 0, row, column) == Approx(sum).epsilon(1e-6));
    }
  w.run("v_wmma_i32_16x16x64_iu8 v[0:7], v[8:15], v[16:23], v[0:7] neg_lo:[1,0,0]");
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      int32_t sum = 0;
      for (unsigned k = 0; k < 64; ++k)
        sum += static_cast<int8_t>(element(w.v, 8, row, k, 16, 8)) *
               static_cast<int32_t>(element(w.v, 16, column, k, 16, 8));
      CHECK(std::bit_cast<int32_t>(result(w, 0, row, column)) == sum);
    }
  w.v[8] = noise(99);
  for (unsigned r = 8; r < 24; ++r)
    for (uint32_t &x : w.v[r])
      x &= 0xbfbfbfbf;
  w.run("v_wmma_f32_16x16x64_fp8_fp8 v[0:7], v[8:15], v[16:23], v[0:7]");
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      double sum = 0;
      for (unsigned k = 0; k < 64; ++k)
        sum += fp8(element(w.v, 8, row, k, 16, 8)) * fp8(element(w.v, 16, column, k, 16, 8));
      CHECK(result(w, 0, row, column) == Approx(sum).epsilon(1e-6).margin(1e-5));
    }
}

TEST_CASE("gfx1250: scaled WMMA of fp8 by fp4 has a scale for each row or column and 32 k") {
  for (const bool upper : {false, true}) {
    WaveRun w("gfx1250");
    for (unsigned r = 8; r < 32; ++r) {
      w.v[r] = noise(r);
      if (r < 24)
        for (uint32_t &x : w.v[r])
          x &= 0xbfbfbfbf; // no NaN
    }
    for (unsigned r : {32u, 33u}) {
      w.v[r] = noise(r);
      for (uint32_t &x : w.v[r]) // 2^-3 to 2^4
        x = 0x7c7c7c7c + (x & 0x07070707);
    }
    results(w, 0, 8);
    const std::string rows =
        upper ? " matrix_a_scale:MATRIX_SCALE_ROW1 matrix_b_scale:MATRIX_SCALE_ROW1" : "";
    w.run("v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:31], v[0:7], v32, v33 "
          "matrix_b_fmt:MATRIX_FMT_FP4" +
          rows);
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned column = 0; column < 16; ++column) {
        double sum = 0;
        for (unsigned k = 0; k < 128; ++k) {
          auto scale = [&](unsigned r, unsigned lane) {
            return std::ldexp(1.0, int(w.v[r][lane + 16 * upper] >> (8 * (k / 32)) & 255) - 127);
          };
          sum += fp8(element(w.v, 8, row, k, 16, 8)) * scale(32, row) *
                 fp4(element(w.v, 24, column, k, 32, 4)) * scale(33, column);
        }
        CHECK(result(w, 0, row, column) == Approx(sum).epsilon(1e-6).margin(1e-4));
      }
  }
}

TEST_CASE("gfx1250: scales of 16 k are eight to a row, in two registers") {
  WaveRun w("gfx1250");
  for (unsigned r = 8; r < 24; ++r)
    w.v[r] = noise(r);
  for (unsigned r : {32u, 33u, 34u, 35u}) {
    w.v[r] = noise(r);
    for (uint32_t &x : w.v[r])
      x = 0x7c7c7c7c + (x & 0x07070707);
  }
  results(w, 0, 8);
  w.run("v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[8:15], v[16:23], v[0:7], v[32:33], v[34:35] "
        "matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4");
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      double sum = 0;
      for (unsigned k = 0; k < 128; ++k) {
        auto scale = [&](unsigned r, unsigned lane) {
          return std::ldexp(1.0, int(w.v[r + k / 64][lane] >> (8 * (k / 16 % 4)) & 255) - 127);
        };
        sum += fp4(element(w.v, 8, row, k, 32, 4)) * scale(32, row) *
               fp4(element(w.v, 16, column, k, 32, 4)) * scale(34, column);
      }
      CHECK(result(w, 0, row, column) == Approx(sum).epsilon(1e-6).margin(1e-4));
    }
}

TEST_CASE("gfx1250: matrix instructions on which sources disagree are refused") {
  const char *refused[] = {
      "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]",
      "v_wmma_scale_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], v[0:15], v1, v2",
      "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:31], v[0:7] matrix_b_fmt:MATRIX_FMT_FP4",
      ("v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[0:7], v1, v2 "
       "matrix_a_scale_fmt:MATRIX_SCALE_FMT_E5M3"),
      "v_swmmac_f32_16x16x64_f16 v[0:7], v[8:15], v[16:31], v32",
  };
  for (const char *text : refused) {
    INFO(text);
    WaveRun w("gfx1250");
    w.run(text, true);
    REQUIRE_FALSE(w.result.ok);
    CHECK_THAT(w.result.fault.message, Catch::Contains("the emulator does not implement this"));
  }
}
