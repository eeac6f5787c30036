// A program for HIP 6 and 7: bfloat16, floats of 8 bits, cooperative groups, wave functions with a
// mask. It includes HIP's headers by their names alone; what the installed HIP does not have comes
// from the emulator's folder of headers. Its exit status is 0 if all results are right.
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;

namespace {
int failures = 0;
void expect(bool ok, const char *what, int line) {
  if (ok || ++failures > 20)
    return;
  std::printf("FAIL: line %d: %s\n", line, what);
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define HIP_OK(call) expect((call) == hipSuccess, #call, __LINE__)

template <class T> struct Array {
  T *data = nullptr;
  size_t count;
  explicit Array(size_t count) : count(count) {
    HIP_OK(hipMalloc(reinterpret_cast<void **>(&data), count * sizeof(T)));
    HIP_OK(hipMemset(data, 0, count * sizeof(T)));
  }
  explicit Array(const std::vector<T> &values) : Array(values.size()) {
    HIP_OK(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
  }
  ~Array() { (void)hipFree(data); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    HIP_OK(hipMemcpy(values.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
  }
};

/// Floats of every exponent, ties between neighbours of the small formats, and what is no number.
std::vector<float> interesting() {
  std::vector<float> all;
  unsigned state = 1;
  for (int exponent = -30; exponent <= 20; ++exponent)
    for (int i = 0; i < 64; ++i) {
      state = state * 1664525u + 1013904223u;
      // Half of them have few bits, so that they are numbers of 8 bits or lie halfway.
      const unsigned fraction = i % 2 ? state & 0x7fffff : (state >> 24 & 0x1f) << 18;
      const unsigned bits = (state & 0x80000000u) | unsigned(exponent + 127) << 23 | fraction;
      float value;
      std::memcpy(&value, &bits, 4);
      all.push_back(value);
    }
  for (float value : {0.0f, -0.0f, INFINITY, -INFINITY, 448.0f, 464.0f, 465.0f, 240.0f, 248.0f, 249.0f,
                      57344.0f, 61440.0f, 61441.0f, 1e30f, -1e30f, 1e-40f})
    all.push_back(value);
  while (all.size() % 256)
    all.push_back(1.0f);
  return all;
}

/// The nearest number of a format, by trying all of them; of two, the one whose code is even.
unsigned nearest(float value, __hip_fp8_interpretation_t type, unsigned most) {
  const bool beyond = std::fabs(value) >= flydsl_hip::decodeFloat8(static_cast<unsigned char>(most), type);
  unsigned best = most; // as far as doubles tell, other codes are equally far from 1e30
  double distance = beyond ? 0 : HUGE_VAL;
  for (unsigned code = 0; code <= most; ++code) {
    const double off = std::fabs(std::fabs(static_cast<double>(value)) -
                                 static_cast<double>(flydsl_hip::decodeFloat8(code, type)));
    if (!beyond && (off < distance || (off == distance && code % 2 == 0))) {
      distance = off;
      best = code;
    }
  }
  const bool fnuz = type == __HIP_E4M3_FNUZ || type == __HIP_E5M2_FNUZ;
  return best | (std::signbit(value) && !(fnuz && best == 0) ? 0x80 : 0);
}
} // namespace

__global__ void convert(const float *in, unsigned char *out, unsigned short *wide, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  out[i] = __hip_fp8_e4m3(in[i]).__x;
  out[count + i] = __hip_fp8_e5m2(in[i]).__x;
  out[2 * count + i] = __hip_fp8_e4m3_fnuz(in[i]).__x;
  out[3 * count + i] = __hip_fp8_e5m2_fnuz(in[i]).__x;
  wide[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
}

/// The processor's own conversions, where it has them: to e4m3 and e5m2, saturating here.
__global__ void byHardware(const float *in, unsigned char *out, int count, int *has) {
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1201__)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    out[i] = static_cast<unsigned char>(__builtin_amdgcn_cvt_pk_fp8_f32(in[i], in[i], 0, false) & 0xff);
    out[count + i] = static_cast<unsigned char>(__builtin_amdgcn_cvt_pk_bf8_f32(in[i], in[i], 0, false) & 0xff);
  }
#ifdef __gfx942__
  *has = 2; // without a negative zero
#else
  *has = 1; // OCP's
#endif
#endif
}

__global__ void arithmetic(const __hip_bfloat16 *a, const __hip_bfloat16 *b, float *out, __hip_bfloat162 *sum) {
  const int i = threadIdx.x;
  out[i] = static_cast<float>(__hfma(a[i], b[i], a[i]));
  out[64 + i] = static_cast<float>(a[i] * b[i] + a[i]);
  out[128 + i] = a[i] > b[i] ? 1.0f : 0.0f;
  out[192 + i] = static_cast<float>(__hmax(a[i], b[i]));
  out[256 + i] = static_cast<float>(hsqrt(__habs(a[i])));
  atomicAdd(&sum->x, __float2bfloat16(1.0f));
  atomicAdd(sum, __floats2bfloat162_rn(1.0f, 0.5f));
}

__global__ void halves(const float *in, float *out) {
  out[threadIdx.x] = __half2float(hrcp(__float2half(in[threadIdx.x])));
}

/// What a block's groups say of themselves, and sums by them.
__global__ void groups(int *out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const auto small = cg::tiled_partition<4>(tile);
  const int i = static_cast<int>(block.thread_rank());
  const int threads = static_cast<int>(block.num_threads());
  int sum = i;
  for (unsigned step = tile.size() / 2; step; step /= 2)
    sum += tile.shfl_down(sum, step);
  out[i] = tile.shfl(sum, 0);
  out[threads + i] = static_cast<int>(tile.meta_group_rank() * 100 + tile.thread_rank());
  int least = i;
  for (unsigned step = small.size() / 2; step; step /= 2)
    least = min(least, small.shfl_xor(least, step));
  out[2 * threads + i] = least * 10 + static_cast<int>(small.meta_group_size());
  out[3 * threads + i] = static_cast<int>(tile.ballot(i % 3 == 0)) + (tile.any(i == 5) ? 1 << 20 : 0) +
                         (tile.all(i < 16) ? 1 << 21 : 0);
  out[4 * threads + i] = static_cast<int>(tile.match_any(i % 5));
  // Only every third thread comes here.
  out[5 * threads + i] = -1;
  if (i % 3 == 0) {
    const cg::coalesced_group together = cg::coalesced_threads();
    const int rank = static_cast<int>(together.thread_rank());
    const double before = together.shfl_up(i + 0.25, 1);
    out[5 * threads + i] = rank * 10000 + static_cast<int>(together.size()) * 100 +
                           (rank ? i - static_cast<int>(before) : 9);
    const cg::coalesced_group part = cg::binary_partition(together, i % 2 == 0);
    out[6 * threads + i] = static_cast<int>(part.size() * 100 + part.thread_rank());
  }
  cg::sync(block);
  const cg::thread_group any = tile;
  out[7 * threads + i] = static_cast<int>(any.size() * 100 + any.thread_rank());
  out[8 * threads + i] = __popcll(__ballot_sync(~0ull, i % 2)) * 1000 + __shfl_xor_sync(~0ull, i, 1);
}

/// Sums of all blocks. Each block reads the others' after the barrier of the grid.
__global__ void overGrid(int *parts, int *out) {
  const cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0)
    __hip_atomic_store(&parts[grid.block_rank()], static_cast<int>(grid.block_rank()) + 1, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_AGENT);
  grid.sync();
  int sum = 0;
  for (unsigned i = 0; i < grid.num_blocks(); ++i)
    sum += __hip_atomic_load(&parts[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[grid.thread_rank()] = sum;
}

/// Wrong uses: each traps.
__global__ void outsideOfMask(unsigned long long *out) {
  out[threadIdx.x] = __ballot_sync(0x0full, 1); // lanes 4 and up call as well
}
__global__ void tileOfTwoWaves(int *out) {
  out[threadIdx.x] = static_cast<int>(cg::tiled_partition<64>(cg::this_thread_block()).thread_rank());
}

namespace {
void conversions() {
  const std::vector<float> in = interesting();
  const int count = static_cast<int>(in.size());
  Array<float> given(in);
  Array<unsigned char> codes(4 * in.size()), own(2 * in.size());
  Array<unsigned short> wide(in.size());
  Array<int> has(1);
  convert<<<dim3(count / 256), dim3(256)>>>(given.data, codes.data, wide.data, count);
  byHardware<<<dim3(count / 256), dim3(256)>>>(given.data, own.data, count, has.data);
  HIP_OK(hipDeviceSynchronize());
  const auto got = codes.read(), hardware = own.read();
  const auto bf16 = wide.read();
  const int kind = has.read()[0];
  const __hip_fp8_interpretation_t types[] = {__HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ};
  const unsigned most[] = {0x7e, 0x7b, 0x7f, 0x7f};
  for (int i = 0; i < count; ++i) {
    for (int t = 0; t < 4; ++t) {
      const unsigned code = got[t * count + i];
      EXPECT(code == nearest(in[i], types[t], most[t]));
      EXPECT(code == __hip_cvt_float_to_fp8(in[i], __HIP_SATFINITE, types[t])); // the host's
    }
    // Numbers that the format holds; what saturates is set by a mode of the processor.
    for (int t = 0; kind && t < 2; ++t) {
      const int type = t + (kind == 2 ? 2 : 0);
      if (std::fabs(in[i]) <= flydsl_hip::decodeFloat8(static_cast<unsigned char>(most[type]), types[type]))
        EXPECT(hardware[t * count + i] == got[type * count + i]);
    }
    // A bfloat16 is the float's upper half, rounded: no other one is nearer.
    const double here = __bfloat162float(__ushort_as_bfloat16(bf16[i]));
    for (int side : {-1, 1})
      if (std::isfinite(in[i]))
        EXPECT(std::fabs(in[i] - here) <=
               std::fabs(in[i] - double(__bfloat162float(__ushort_as_bfloat16(bf16[i] + side)))) || bf16[i] % 0x8000 == 0);
  }
  EXPECT(kind == 0 || hardware[0] == got[kind == 2 ? 2 * count : 0]);
  // What is beyond the largest number where nothing saturates, and what is no number.
  EXPECT(__hip_cvt_float_to_fp8(1e9f, __HIP_NOSAT, __HIP_E5M2) == 0x7c);
  EXPECT(__hip_cvt_float_to_fp8(-1e9f, __HIP_NOSAT, __HIP_E4M3) == 0xff);
  EXPECT(__hip_cvt_float_to_fp8(1e9f, __HIP_NOSAT, __HIP_E4M3_FNUZ) == 0x80);
  EXPECT(std::isnan(static_cast<float>(__hip_fp8_e4m3(NAN))) && std::isnan(static_cast<float>(__hip_fp8_e5m2_fnuz(NAN))));
  EXPECT(std::isinf(flydsl_hip::decodeFloat8(0xfc, __HIP_E5M2)) && std::isnan(flydsl_hip::decodeFloat8(0x7d, __HIP_E5M2)));
  // Known numbers: OCP's table, and the least ones.
  EXPECT(static_cast<float>(__hip_fp8_e4m3(1.0f)) == 1.0f && __hip_fp8_e4m3(1.0f).__x == 0x38);
  EXPECT(__hip_fp8_e5m2(1.0f).__x == 0x3c && __hip_fp8_e4m3_fnuz(1.0f).__x == 0x40 && __hip_fp8_e5m2_fnuz(1.0f).__x == 0x40);
  EXPECT(flydsl_hip::decodeFloat8(1, __HIP_E4M3) == 0x1p-9f && flydsl_hip::decodeFloat8(1, __HIP_E5M2) == 0x1p-16f);
  EXPECT(flydsl_hip::decodeFloat8(1, __HIP_E4M3_FNUZ) == 0x1p-10f && flydsl_hip::decodeFloat8(1, __HIP_E5M2_FNUZ) == 0x1p-17f);
  const float4 four = static_cast<float4>(__hip_fp8x4_e4m3(make_float4(1, -2, 0.5f, 448)));
  EXPECT(four.x == 1 && four.y == -2 && four.z == 0.5f && four.w == 448);
  // One rounding: the double just above a tie goes up, though the float of it is the tie.
  EXPECT(__double2bfloat16(1.0 + 0x1p-8 + 0x1p-40).__x == 0x3f81 && __double2bfloat16(1.0 + 0x1p-8).__x == 0x3f80);
  EXPECT(__hip_cvt_double_to_fp8(1.0 + 0x1p-4 + 0x1p-40, __HIP_SATFINITE, __HIP_E4M3) == 0x39);
  EXPECT(__hisnan(__float2bfloat16(NAN)) && __hisinf(__float2bfloat16(3.4e38f)) == 1 && __hequ(HIPRT_NAN_BF16, HIPRT_ONE_BF16));
  EXPECT(static_cast<float>(__hip_bfloat16((1ull << 60) + (1ull << 52) + 1)) == std::ldexp(1.0f + 0x1p-7f, 60));
}

void numbers() {
  std::vector<__hip_bfloat16> a, b;
  std::vector<float> in;
  for (int i = 0; i < 64; ++i) {
    a.push_back(__hip_bfloat16(static_cast<float>(i * 37 % 64) - 31.5f));
    b.push_back(__hip_bfloat16(static_cast<float>(i) / 7));
    in.push_back(static_cast<float>(i + 1));
  }
  Array<__hip_bfloat16> left(a), right(b);
  Array<float> out(320), given(in), reciprocals(64);
  Array<__hip_bfloat162> sum(1);
  arithmetic<<<dim3(1), dim3(64)>>>(left.data, right.data, out.data, sum.data);
  halves<<<dim3(1), dim3(64)>>>(given.data, reciprocals.data);
  HIP_OK(hipDeviceSynchronize());
  const auto got = out.read(), rcp = reciprocals.read();
  for (int i = 0; i < 64; ++i) {
    const float x = a[i], y = b[i];
    EXPECT(got[i] == static_cast<float>(__hip_bfloat16(double(x) * double(y) + double(x))));
    EXPECT(got[64 + i] == static_cast<float>(__hip_bfloat16(static_cast<float>(__hip_bfloat16(x * y)) + x)));
    EXPECT(got[128 + i] == (x > y) && got[192 + i] == std::fmax(x, y));
    EXPECT(got[256 + i] == static_cast<float>(__hip_bfloat16(std::sqrt(std::fabs(x)))));
    EXPECT(std::fabs(rcp[i] * in[i] - 1) < 0x1p-9f);
  }
  const auto total = sum.read()[0];
  EXPECT(static_cast<float>(total.x) == 128 && static_cast<float>(total.y) == 32);
}

void cooperativeGroups(int wave) {
  constexpr int threads = 128;
  Array<int> out(9 * threads);
  groups<<<dim3(1), dim3(threads)>>>(out.data);
  HIP_OK(hipDeviceSynchronize());
  const auto got = out.read();
  for (int i = 0; i < threads; ++i) {
    const int tile = i / 16, lane = i % 16, first = tile * 16;
    EXPECT(got[i] == 16 * first + 120);
    EXPECT(got[threads + i] == tile * 100 + lane);
    EXPECT(got[2 * threads + i] == i / 4 * 4 * 10 + 4);
    int votes = 0, same = 0;
    for (int k = 0; k < 16; ++k) {
      votes |= ((first + k) % 3 == 0) << k;
      same |= ((first + k) % 5 == i % 5) << k;
    }
    EXPECT(got[3 * threads + i] == votes + (tile == 0 ? (1 << 20) + (1 << 21) : 0));
    EXPECT(got[4 * threads + i] == same);
    int rank = 0, size = 0, half = 0, halfRank = 0;
    for (int k = i / wave * wave; k < i / wave * wave + wave; ++k)
      if (k % 3 == 0) {
        rank += k < i;
        ++size;
        half += k % 2 == i % 2;
        halfRank += k < i && k % 2 == i % 2;
      }
    EXPECT(got[5 * threads + i] == (i % 3 ? -1 : rank * 10000 + size * 100 + (rank ? 3 : 9)));
    EXPECT(got[6 * threads + i] == (i % 3 ? 0 : half * 100 + halfRank));
    EXPECT(got[7 * threads + i] == 1600 + lane);
    EXPECT(got[8 * threads + i] == wave / 2 * 1000 + (i ^ 1));
  }
  constexpr int blocks = 6;
  Array<int> parts(blocks), sums(blocks * 64);
  int *partsPointer = parts.data, *sumsPointer = sums.data;
  void *arguments[] = {&partsPointer, &sumsPointer};
  HIP_OK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(overGrid), dim3(blocks), dim3(64), arguments, 0, nullptr));
  HIP_OK(hipDeviceSynchronize());
  for (int sum : sums.read())
    EXPECT(sum == blocks * (blocks + 1) / 2);
}

/// A device is lost after a trap, until it is reset.
template <class Launch> void traps(const Launch &launch) {
  launch();
  EXPECT(hipDeviceSynchronize() == hipErrorLaunchFailure);
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}
void wrongUses(int wave) {
  void *memory = nullptr;
  HIP_OK(hipHostMalloc(&memory, 4096, 0));
  traps([&] { outsideOfMask<<<dim3(1), dim3(32)>>>(static_cast<unsigned long long *>(memory)); });
  HIP_OK(hipHostMalloc(&memory, 4096, 0));
  // A launch that is not cooperative has no barrier of the grid.
  traps([&] { overGrid<<<dim3(1), dim3(64)>>>(static_cast<int *>(memory), static_cast<int *>(memory)); });
  HIP_OK(hipHostMalloc(&memory, 4096, 0));
  if (wave == 32)
    traps([&] { tileOfTwoWaves<<<dim3(1), dim3(64)>>>(static_cast<int *>(memory)); });
}
} // namespace

int main() {
  int wave = 0;
  HIP_OK(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, 0));
  conversions();
  numbers();
  cooperativeGroups(wave);
  wrongUses(wave);
  std::puts(failures ? "there are failures" : "PASS");
  return failures ? 1 : 0;
}
