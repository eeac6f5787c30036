// Kernels with one parameter each that changes the cost.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
static __attribute__((address_space(3), loader_uninitialized)) int tile[4096];

static inline int id(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
static inline int group(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }

// 16 rounds of one LDS word for each work-item, `stride` words apart.
KERNEL lds_stride(GLOBAL int *out, int stride) {
  int at = id() * stride & 4095, sum = 0;
  for (int i = 0; i < 16; ++i) {
    tile[at] = i;
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
    sum += tile[at];
  }
  out[group() * 256 + id()] = sum;
}

// One word for each work-item, `stride` words apart.
KERNEL load_stride(GLOBAL const int *in, GLOBAL int *out, int stride) {
  int at = group() * 256 + id();
  out[at] = in[at * stride];
}

// A chain of `length` dependent loads: nothing but latency.
KERNEL chase(GLOBAL const int *next, GLOBAL int *out, int length) {
  int at = id();
  for (int i = 0; i < length; ++i)
    at = next[at];
  out[group() * 64 + id()] = at;
}

// `count` multiply-adds, and `count` reciprocals, which take four times as long.
KERNEL multiply(GLOBAL float *out, int count) {
  float x = (float)id();
  for (int i = 0; i < count; ++i)
    x = x * 1.5f + 2.0f;
  out[group() * 64 + id()] = x;
}
KERNEL divide(GLOBAL float *out, int count) {
  float x = (float)id() + 1;
  for (int i = 0; i < count; ++i)
    x = __builtin_amdgcn_rcpf(x);
  out[group() * 64 + id()] = x;
}
