/* The functions of the emulator's library (libflydsl_emulator.so) beside HIP's: the text of errors,
   counters of launches, and an estimate of their time. This header is plain C, for any program that
   runs on the emulator. A program that uses libflydsl gets the text from `flydsl::RuntimeError` and
   the counters from `flydsl::Device::count_launches`. */
#ifndef FLYDSL_EMULATOR_H
#define FLYDSL_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns an explanation of the calling thread's last HIP call that failed, beyond its status. It
   is the reason why the call was refused or, if the call returns the fault of a kernel, a
   description of the fault: the kernel, its action, the program counter, workgroup, wave and lane,
   the address and the allocation nearest to it, the instruction, and the source line if the code
   object has line tables. The text is empty if there is no explanation, and never NULL. It is valid
   until the thread's next call that fails; hipErrorNotReady is not a failure. */
const char *flydslEmulatorErrorText(void);

#define FLYDSL_EMULATOR_MAX_COUNTERS 64

/* One counted launch. */
typedef struct flydslEmulatorLaunch {
  uint32_t size; /* sizeof(struct flydslEmulatorLaunch), set by the caller */
  int32_t device;
  uint64_t index;   /* the number of this launch among the device's counted ones, from 0 */
  char kernel[256]; /* the kernel's name, cut to fit; ends in 0 */
  uint32_t grid[3]; /* workgroups */
  uint32_t block[3];
  uint32_t dynamic_lds;                          /* bytes */
  uint32_t counters;                             /* the number of `values` that are set */
  uint64_t values[FLYDSL_EMULATOR_MAX_COUNTERS]; /* exact; named by flydslEmulatorCounterName */

  /* An estimate by a small model (docs/emulator.md), good enough to rank configurations. */
  double estimated_cycles; /* cycles of the engine clock */
  double estimated_microseconds;
  char estimated_bound[16]; /* the largest part: "matrix", "memory", "latency", ... */
  uint32_t resident_groups; /* workgroups that a multiprocessor holds at a time */
  double waves_per_simd;    /* waves per SIMD while all multiprocessors are full */
} flydslEmulatorLaunch;

/* Returns the name of a counter, which is rocprof's if rocprof has the counter; NULL past the last
   counter. */
const char *flydslEmulatorCounterName(uint32_t counter);

/* Returns a short description of a counter; NULL past the last counter. */
const char *flydslEmulatorCounterText(uint32_t counter);

/* Begins (enable != 0) or ends (enable == 0) the counting of a device's launches. Calls nest:
   counting ends with the last end. Counted launches run slower. Returns 0, or -1 for a device that
   does not exist or an end without a beginning. */
int32_t flydslEmulatorCountLaunches(int32_t device, int32_t enable);

/* Returns the number of launches of a device that were counted since the process started; -1 for a
   device that does not exist. A launch is counted when it has ended: wait for the device first. */
int64_t flydslEmulatorCountedLaunches(int32_t device);

/* Reads a counted launch into `launch`. Returns 0; -1 if the device or the launch does not exist,
   or if the launch is not among the last 1024; -2 for a `size` that this library does not know. */
int32_t flydslEmulatorGetLaunch(int32_t device, uint64_t index, flydslEmulatorLaunch *launch);

/* Returns the number of findings of the checks (FLYDSL_EMULATOR_CHECK) in the launches of a device
   since the process started; -1 for a device that does not exist. If `text` is not NULL, the newest
   finding is written to it, cut to `size` bytes including the final 0. */
int64_t flydslEmulatorFindings(int32_t device, char *text, uint32_t size);

/* For programs with an allocator of their own, which gives out parts of a large allocation (a pool).
   Says that it gave out `size` bytes at `pointer`. From then on kernels may touch of that allocation
   what was given out, and no more: an access to a gap between the parts, or to a part that was taken
   back, is a fault that names the nearest part. An access that goes from one part straight into a
   part that begins where it ends is seen only if it touches both at once, so an allocator that wants
   overruns to be seen leaves a gap after each part. Copies and fills by the host are not looked at.
   Returns 0; -1 if no allocation of HIP's holds the bytes, or some of them are given out already. */
int32_t flydslEmulatorAddSuballocation(const void *pointer, uint64_t size);

/* Says that the allocator took back the part that begins at `pointer`; wait first for the kernels
   that use it. The check of values that no instruction wrote takes its bytes as unwritten again.
   Freeing the allocation takes back all its parts. Returns 0; -1 if no part begins there. */
int32_t flydslEmulatorRemoveSuballocation(const void *pointer);

#ifdef __cplusplus
}
#endif

#endif
