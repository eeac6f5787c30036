// How many workgroups a multiprocessor holds at a time.
#pragma once

#include "emulator/hip/device/device_figures.h"
#include "emulator/loader/metadata.h"

namespace flyemu::hip {

/// Workgroups of \p threads work-items with \p dynamicLds bytes of dynamic LDS that are resident
/// on one multiprocessor, by its registers, its wave slots and its LDS. 0: not even one.
int residentWorkgroups(const DeviceFigures &info, const loader::KernelNotes &kernel,
                       uint64_t threads, uint64_t dynamicLds);
/// The same as HIP answers it: a multiprocessor has the LDS that one workgroup may take, which is half
/// of a work-group processor's (CLR takes the size of ROCr's group memory for both).
int residentAsHipSays(const DeviceFigures &info, const loader::KernelNotes &kernel,
                      uint64_t threads, uint64_t dynamicLds);

} // namespace flyemu::hip
