// Kernels of the kinds that AMD's HIP examples have: a wave, LDS,
// atomics, constant and device memory.
#include <hip/hip_runtime.h>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}

// Each thread of a grid of three dimensions writes where it is.
extern "C" __global__ void indices(int *out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  const int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x * 10000 + y * 100 + z;
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int M, int N, int K) {
  constexpr int tile = 16;
  __shared__ float left[tile][tile], right[tile][tile + 1];
  const int i = blockIdx.y * tile + threadIdx.y, j = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < K; first += tile) {
    const int ka = first + threadIdx.x, kb = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = i < M && ka < K ? a[i * K + ka] : 0;
    right[threadIdx.y][threadIdx.x] = kb < K && j < N ? b[kb * N + j] : 0;
    __syncthreads();
    for (int k = 0; k < tile; ++k)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (i < M && j < N)
    c[i * N + j] = sum;
}

extern "C" __global__ void transpose(const float *x, float *y, int M, int N) {
  extern __shared__ float tile[]; // blockDim.y rows of blockDim.x + 1
  const int stride = blockDim.x + 1;
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < M && j < N)
    tile[threadIdx.y * stride + threadIdx.x] = x[i * N + j];
  __syncthreads();
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  const int row = t % blockDim.y, column = t / blockDim.y;
  i = blockIdx.y * blockDim.y + row;
  j = blockIdx.x * blockDim.x + column;
  if (i < M && j < N)
    y[j * M + i] = tile[row * stride + column];
}

// One row a block: shuffles in a wave, LDS between waves. Sum,
// largest, smallest, place, exclusive or.
template <class T, class F> __device__ T wave_reduce(T value, F f) {
  for (int step = warpSize / 2; step; step /= 2)
    value = f(value, __shfl_down(value, step));
  return value;
}
template <class T, class F> __device__ T block_reduce(T value, F f, T *parts) {
  value = wave_reduce(value, f);
  __syncthreads();
  if (threadIdx.x % warpSize == 0)
    parts[threadIdx.x / warpSize] = value;
  __syncthreads();
  for (unsigned wave = 1; wave < blockDim.x / warpSize; ++wave)
    value = f(value, parts[wave]);
  return value;
}
extern "C" __global__ void reduce(const int *x, int *out, int columns) {
  __shared__ long long parts[32];
  int sum = 0, bits = 0, smallest = 2147483647;
  long long largest = -9223372036854775807ll;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    const int value = x[blockIdx.x * columns + j];
    sum += value;
    bits ^= value;
    smallest = min(smallest, value);
    // The value above, the place counted from the end below: the first
    // of equal ones is the largest.
    largest = max(largest, (static_cast<long long>(value) << 32) | (columns - 1 - j));
  }
  int *words = reinterpret_cast<int *>(parts);
  sum = block_reduce(sum, [](int a, int b) { return a + b; }, words);
  bits = block_reduce(bits, [](int a, int b) { return a ^ b; }, words);
  smallest = block_reduce(smallest, [](int a, int b) { return min(a, b); }, words);
  largest = block_reduce(largest, [](long long a, long long b) { return max(a, b); }, parts);
  if (threadIdx.x == 0) {
    int *row = out + 5 * blockIdx.x;
    row[0] = sum;
    row[1] = static_cast<int>(largest >> 32);
    row[2] = smallest;
    row[3] = columns - 1 - static_cast<int>(largest & 0xffffffff);
    row[4] = bits;
  }
}

extern "C" __global__ void histogram(const int *x, int *counts, int n) {
  __shared__ unsigned own[64];
  for (unsigned bin = threadIdx.x; bin < 64; bin += blockDim.x)
    own[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 64; bin += blockDim.x)
    atomicAdd(&counts[bin], static_cast<int>(own[bin]));
}

// A bitonic sort of one row a block.
extern "C" __global__ void sort(const int *x, int *y) {
  __shared__ int values[256];
  const unsigned t = threadIdx.x, at = blockIdx.x * 256 + t;
  values[t] = x[at];
  for (unsigned size = 2; size <= 256; size *= 2)
    for (unsigned step = size / 2; step; step /= 2) {
      __syncthreads();
      const unsigned other = t ^ step;
      if (other > t) {
        const bool up = (t & size) == 0;
        const int a = values[t], b = values[other];
        if ((a > b) == up) {
          values[t] = b;
          values[other] = a;
        }
      }
    }
  __syncthreads();
  y[at] = values[t];
}

// Sums from the front, the largest from the back, one row a block of
// 256 with four elements a thread.
extern "C" __global__ void scan(const int *x, int *sums, int *largest) {
  __shared__ int sum[2][256], most[2][256];
  const int t = threadIdx.x;
  const int4 v = reinterpret_cast<const int4 *>(x)[blockIdx.x * 256 + t];
  sum[0][t] = v.x + v.y + v.z + v.w;
  most[0][t] = max(max(v.x, v.y), max(v.z, v.w));
  int now = 0;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    sum[!now][t] = sum[now][t] + (t >= step ? sum[now][t - step] : 0);
    most[!now][t] = t + step < 256 ? max(most[now][t], most[now][t + step]) : most[now][t];
    now = !now;
  }
  __syncthreads();
  int4 s, m;
  const int before = t ? sum[now][t - 1] : 0;
  s.x = before + v.x;
  s.y = s.x + v.y;
  s.z = s.y + v.z;
  s.w = s.z + v.w;
  m.w = t < 255 ? max(v.w, most[now][t + 1]) : v.w;
  m.z = max(v.z, m.w);
  m.y = max(v.y, m.z);
  m.x = max(v.x, m.y);
  reinterpret_cast<int4 *>(sums)[blockIdx.x * 256 + t] = s;
  reinterpret_cast<int4 *>(largest)[blockIdx.x * 256 + t] = m;
}

__constant__ float mask[5][5] = {
    {1, 2, 3, 2, 1}, {0, 1, 2, 1, 0}, {-1, 0, 1, 0, -1}, {2, -2, 2, -2, 2}, {1, 0, 0, 0, 3}};
extern "C" __global__ void convolution(const float *x, float *y, int width, int height) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= height || j >= width)
    return;
  float sum = 0;
  for (int di = -2; di <= 2; ++di)
    for (int dj = -2; dj <= 2; ++dj)
      if (i + di >= 0 && i + di < height && j + dj >= 0 && j + dj < width)
        sum += x[(i + di) * width + j + dj] * mask[di + 2][dj + 2];
  y[i * width + j] = sum;
}

// The positive elements to the front, in their order, one block: ballots, and LDS between waves.
extern "C" __global__ void compact(const int *x, int *y, int *count) {
  __shared__ int parts[32];
  const int value = x[threadIdx.x];
  const unsigned long long votes = __ballot(value > 0);
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0)
    parts[wave] = __popcll(votes);
  __syncthreads();
  int before = __popcll(votes & ((1ull << lane) - 1));
  for (int w = 0; w < wave; ++w)
    before += parts[w];
  if (value > 0)
    y[before] = value;
  const int all = __syncthreads_count(value > 0);
  if (threadIdx.x == 0)
    *count = all;
}

// The last block to end sums what the others left.
__device__ unsigned ended;
extern "C" __global__ void last_block(const float *x, float *parts, float *out, int n) {
  __shared__ float own[256];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  own[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step; step /= 2) {
    if (threadIdx.x < step)
      own[threadIdx.x] += own[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    __hip_atomic_store(&parts[blockIdx.x], own[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    last = __hip_atomic_fetch_add(&ended, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) ==
           gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block)
      sum += __hip_atomic_load(&parts[block], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    *out = sum;
    ended = 0;
  }
}

// Sum, sum of doubles, smallest, largest, and the smallest of floats by compare and swap.
extern "C" __global__ void atomics(const int *x, int n, int *whole, float *single, double *wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  atomicAdd(&whole[0], x[i]);
  atomicMin(&whole[1], x[i]);
  atomicMax(&whole[2], x[i]);
  atomicXor(&whole[3], x[i]);
  atomicAdd(&single[0], static_cast<float>(x[i]));
  int *bits = reinterpret_cast<int *>(&single[1]);
  int old = __hip_atomic_load(bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (__int_as_float(old) > static_cast<float>(x[i])) {
    const int seen = atomicCAS(bits, old, __float_as_int(static_cast<float>(x[i])));
    if (seen == old)
      break;
    old = seen;
  }
  atomicAdd(wide, static_cast<double>(x[i]));
}

// Halves in pairs, bytes in quads.
typedef _Float16 half2_t __attribute__((ext_vector_type(2)));
extern "C" __global__ void packed(const half2_t *x, const half2_t *y, half2_t *z,
                                  const char4 *a, const char4 *b, int *c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = x[i] * y[i] + x[i];
  const char4 p = a[i], q = b[i];
  c[i] = p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
}
