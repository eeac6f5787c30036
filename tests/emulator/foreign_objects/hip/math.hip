// The mathematical functions of HIP's device library.
#include <hip/hip_runtime.h>

template <class T> __device__ void functions(T x, T *out) {
  out[0] = exp(x);
  out[1] = log(fabs(x) + T(1));
  out[2] = sin(x);
  out[3] = cos(x);
  out[4] = tanh(x);
  out[5] = erf(x);
  out[6] = pow(fabs(x) + T(1), T(1.5));
  out[7] = atan2(x, T(2));
  out[8] = cbrt(x);
  out[9] = rsqrt(fabs(x) + T(1));
  out[10] = fmod(x, T(3));
  out[11] = hypot(x, T(3));
}
extern "C" __global__ void math_f32(const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  functions(x[i], y + 12 * i);
}
extern "C" __global__ void math_f64(const double *x, double *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  functions(x[i], y + 12 * i);
}
