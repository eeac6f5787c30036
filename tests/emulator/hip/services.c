// Kernels that read the hidden arguments of their launch, at the offsets of code object version 5
// (LLVM's AMDGPUUsage, "Code Object V5 Kernel Argument Metadata"). Built-in functions only.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
typedef unsigned long u64;

static u64 hidden(int offset) {
  return *(const CONSTANT u64 *)((const CONSTANT char *)__builtin_amdgcn_implicitarg_ptr() + offset);
}
static u64 hidden_word(u64 address, int index) { return ((const volatile GLOBAL u64 *)address)[index]; }

// The grid's barrier where there is none, and the queue of kernels that launch kernels.
KERNEL void grid_words(GLOBAL u64 *out) { out[0] = hidden_word(hidden(88), 4); }
KERNEL void default_queue(GLOBAL u64 *out) { out[0] = hidden_word(hidden(104), 0); }
KERNEL void completion_action(GLOBAL u64 *out) { out[0] = hidden_word(hidden(112), 0); }

// The apertures in the queue, at the places where compiled code looks.
KERNEL void queue(GLOBAL u64 *out) {
  u64 pointer = hidden(200);
  out[0] = hidden_word(pointer, 8);
}

struct header {
  u64 next, lanes;
  unsigned service, control;
};

// One hostcall by one work-item: a packet off the free stack, filled, onto the ready stack; then
// the wait.
KERNEL void hostcall(GLOBAL u64 *out, unsigned service, u64 first, u64 second) {
  volatile GLOBAL u64 *shared = (volatile GLOBAL u64 *)hidden(80);
  u64 packet = shared[3];
  volatile GLOBAL struct header *header =
      (volatile GLOBAL struct header *)shared[0] + (packet & shared[5]);
  volatile GLOBAL u64 *slot = (volatile GLOBAL u64 *)shared[1] + (packet & shared[5]) * 64 * 8;
  shared[3] = header->next;
  header->lanes = 1;
  header->service = service;
  header->control = 1;
  slot[0] = first;
  slot[1] = second;
  header->next = 0;
  __scoped_atomic_store_n((GLOBAL u64 *)&shared[4], packet, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  while (__scoped_atomic_load_n((GLOBAL unsigned *)&header->control, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) & 1)
    __builtin_amdgcn_s_sleep(1);
  out[0] = slot[0];
}
