// region: functions
// clang --target=amdgcn-amd-amdhsa -nogpulib -O2 -emit-llvm -c device_functions.c
float gelu(float x) { return x / (1 + __builtin_amdgcn_exp2f(-1.702f * 1.44269504f * x)); }

void clamp_all(float *x, int n, float most) {
  for (int i = 0; i < n; ++i)
    x[i] = x[i] < most ? x[i] : most;
}
// endregion
