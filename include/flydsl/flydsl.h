// The umbrella header: it includes all that a program needs to write, compile and launch kernels.
#pragma once

#include <flydsl/assert_layout.h>
#include <flydsl/atomic.h>
#include <flydsl/control_flow.h>
#include <flydsl/copy.h>
#include <flydsl/device.h>
#include <flydsl/device_array.h>
#include <flydsl/error.h>
#include <flydsl/extern.h>
#include <flydsl/gather.h>
#include <flydsl/gpu.h>
#include <flydsl/kernel.h>
#include <flydsl/math.h>
#include <flydsl/mma.h>
#include <flydsl/pointer_arg.h>
#include <flydsl/print.h>
#include <flydsl/random.h>
#include <flydsl/reduce.h>
#include <flydsl/require.h>
#include <flydsl/rocdl/rocdl.h>
#include <flydsl/shared.h>
#include <flydsl/stream.h>
#include <flydsl/strided_view.h>
#include <flydsl/target.h>
