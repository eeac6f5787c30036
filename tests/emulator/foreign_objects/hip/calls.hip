// Functions that are really called: through a table, by themselves, with arrays
// on the stack; and integers of 64 bits.
#include <hip/hip_runtime.h>

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int below(int x) { return x - 7; }
__device__ int (*const table[3])(int) = {twice, square, below};

__device__ __noinline__ int divisor(int a, int b) { return b ? divisor(b, a % b) : a; }

// The digits of x from the back, through an array with an index that is not known.
__device__ __noinline__ int reversed(int x) {
  int digits[12];
  int count = 0;
  for (; x; x /= 10)
    digits[count++] = x % 10;
  int y = 0;
  for (int n = 0; n < count; ++n)
    y = 10 * y + digits[n];
  return y;
}

struct Shape {
  __device__ virtual int area() const = 0;
  int side;
};
struct Cube : Shape {
  __device__ int area() const override { return 6 * side * side; }
};
struct Square : Shape {
  __device__ int area() const override { return side * side; }
};

extern "C" __global__ void calls(const int *x, int *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[4 * i] = table[x[i] % 3](x[i]);
  y[4 * i + 1] = divisor(x[i] + 1, 360);
  y[4 * i + 2] = reversed(x[i]);
  Cube cube;
  Square square;
  Shape *shape = x[i] % 2 ? static_cast<Shape *>(&cube) : &square;
  shape->side = x[i];
  y[4 * i + 3] = shape->area();
}

extern "C" __global__ void wide_integers(const int *x, const int *y, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long a = static_cast<long long>(x[i]) * 1000000007ll + y[i], b = y[i] ? y[i] : 3;
  const unsigned long long u = static_cast<unsigned long long>(a);
  const long long results[4] = {a / b, a % b, static_cast<long long>(u / 12345u),
                                static_cast<long long>(__umul64hi(u, 0x9e3779b97f4a7c15ull))};
  for (int n = 0; n < 4; ++n) {
    out[8 * i + 2 * n] = static_cast<int>(results[n]);
    out[8 * i + 2 * n + 1] = static_cast<int>(results[n] >> 32);
  }
}
