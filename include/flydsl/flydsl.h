// The umbrella header: it includes all that a program needs to write, compile and launch kernels.
#pragma once

#include <flydsl/error.h>
#include <flydsl/host/device.h>
#include <flydsl/host/device_array.h>
#include <flydsl/host/stream.h>
#include <flydsl/kernel.h>
#include <flydsl/kernel/atomic.h>
#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/copy.h>
#include <flydsl/kernel/extern.h>
#include <flydsl/kernel/gather.h>
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/math.h>
#include <flydsl/kernel/mma.h>
#include <flydsl/kernel/print.h>
#include <flydsl/kernel/random.h>
#include <flydsl/kernel/reduce.h>
#include <flydsl/kernel/require.h>
#include <flydsl/kernel/select.h>
#include <flydsl/kernel/shared.h>
#include <flydsl/kernel/strided_view.h>
#include <flydsl/layout/assert_layout.h>
#include <flydsl/pointer_arg.h>
#include <flydsl/rocdl/rocdl.h>
#include <flydsl/target.h>
