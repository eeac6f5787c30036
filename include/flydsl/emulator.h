/* What the emulator's library (libflydsl_emulator.so) offers beside HIP's functions: the text of
   errors, counters of launches, and an estimate of their time. Plain C, for any program that runs on
   the emulator; programs that use libflydsl find the text in `flydsl::RuntimeError` and the counters
   by `flydsl::Device::count_launches`. */
#ifndef FLYDSL_EMULATOR_H
#define FLYDSL_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What there is to say of the calling thread's last HIP call that failed, beyond its status: why it
   was refused, or - whichever call returns the fault of a kernel - the kernel, what it did, program
   counter, workgroup, wave, lane, address and the allocation nearest to it, instruction, and source
   line where the code object has line tables. Empty where there is nothing to say, never NULL. Valid
   until the thread's next call that fails; hipErrorNotReady is no failure. */
const char *flydslEmulatorErrorText(void);

#define FLYDSL_EMULATOR_MAX_COUNTERS 64

/* One launch that was counted. */
typedef struct flydslEmulatorLaunch {
  uint32_t size; /* sizeof(struct flydslEmulatorLaunch), set by the caller */
  int32_t device;
  uint64_t index;   /* which counted launch of the device this is, from 0 */
  char kernel[256]; /* the kernel's name, cut if it is longer; ends in 0 */
  uint32_t grid[3]; /* workgroups */
  uint32_t block[3];
  uint32_t dynamic_lds; /* bytes */
  uint32_t counters;    /* how many of `values` are set */
  uint64_t values[FLYDSL_EMULATOR_MAX_COUNTERS]; /* exact; named by flydslEmulatorCounterName */

  /* An estimate of a small model (docs/emulator.md), made to rank configurations. */
  double estimated_cycles; /* of the engine clock */
  double estimated_microseconds;
  char estimated_bound[16]; /* the model's largest part: "matrix", "memory", "latency", ... */
  uint32_t resident_groups; /* workgroups that a multiprocessor holds at a time */
  double waves_per_simd;    /* while all multiprocessors are full */
} flydslEmulatorLaunch;

/* The name of a counter, rocprof's where rocprof has it; NULL past the last one. */
const char *flydslEmulatorCounterName(uint32_t counter);

/* What a counter counts, in a few words; NULL past the last one. */
const char *flydslEmulatorCounterText(uint32_t counter);

/* Begins (enable != 0) or ends the counting of a device's launches from now on. Calls nest: counting
   ends with the last end. Counted launches run slower. Returns 0, or -1 for a device that does not
   exist or an end without a beginning. */
int32_t flydslEmulatorCountLaunches(int32_t device, int32_t enable);

/* How many launches of a device have been counted since the process started; -1 for a device that
   does not exist. A launch is counted when it has ended: wait for the device first. */
int64_t flydslEmulatorCountedLaunches(int32_t device);

/* Reads a counted launch. Returns 0; -1 where the device or the launch does not exist, or it is not
   among the last 1024; -2 for a `size` that this library does not know. */
int32_t flydslEmulatorGetLaunch(int32_t device, uint64_t index, flydslEmulatorLaunch *launch);

/* How many findings the checks (FLYDSL_EMULATOR_CHECK) have made in the launches of a device since
   the process started; -1 for a device that does not exist. The newest one is written to `text`, cut
   to `size` bytes with the 0 at the end, where `text` is not NULL. */
int64_t flydslEmulatorFindings(int32_t device, char *text, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
