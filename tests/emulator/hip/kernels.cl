// Kernels of the HIP tests. Built-in functions only: there is no device library.
#define GLOBAL_ID (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())

__constant int table[4] = {10, 20, 30, 40};
// Protected, so that the module exports them.
__attribute__((visibility("protected"))) global int counter;
__attribute__((visibility("protected"))) global int history[16];

kernel void fill(global int *out, int value, int count) {
  int i = GLOBAL_ID;
  if (i < count)
    out[i] = value;
}

kernel void add(global const int *a, global const int *b, global int *out, int count) {
  int i = GLOBAL_ID;
  if (i < count)
    out[i] = a[i] + b[i];
}

// Arguments of several sizes, so that offsets and padding matter.
kernel void mixed(global long *out, char c, short s, int i, long l, float f, double d) {
  out[0] = c;
  out[1] = s;
  out[2] = i;
  out[3] = l;
  out[4] = (long)f;
  out[5] = (long)d;
}

// Each work-item counts to `turns` and adds what it saw, so that the launch takes a while.
kernel void spin(global int *out, int turns) {
  volatile int private_count = 0;
  for (int i = 0; i < turns; ++i)
    private_count = private_count + 1;
  if (GLOBAL_ID == 0)
    out[0] = private_count;
}

// What the launch looks like from inside; the sizes come from hidden arguments.
kernel void geometry(global int *out) {
  int x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y(),
      z = __builtin_amdgcn_workgroup_id_z();
  if (x == 1 && y == 2 && z == 3 && __builtin_amdgcn_workitem_id_x() == 1 &&
      __builtin_amdgcn_workitem_id_y() == 2 && __builtin_amdgcn_workitem_id_z() == 3) {
    out[0] = __builtin_amdgcn_workgroup_size_x();
    out[1] = __builtin_amdgcn_workgroup_size_y();
    out[2] = __builtin_amdgcn_workgroup_size_z();
    constant uint *hidden = (constant uint *)__builtin_amdgcn_implicitarg_ptr();
    out[3] = hidden[0];
    out[4] = hidden[1];
    out[5] = hidden[2];
    out[6] = 1;
  }
}

kernel void count_up(global int *seen) {
  if (GLOBAL_ID == 0) {
    counter += 1;
    history[counter & 15] = counter;
    seen[0] = counter + table[counter & 3];
  }
}

kernel void wild_store(global int *out, long offset) { out[offset + GLOBAL_ID] = 7; }

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void only64(global int *out) {
  out[GLOBAL_ID] = 63 - __builtin_amdgcn_workitem_id_x();
}

kernel void endless(global int *out) {
  while (((volatile global int *)out)[0] == 0)
    ;
}

// Each work-item adds to a sum that other devices and processes add to.
kernel void add_for_all(global int *sum, int turns) {
  for (int i = 0; i < turns; ++i)
    __scoped_atomic_fetch_add(sum, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}
