// Everything that a program writes, compiles and launches kernels with.
#pragma once

#include <flydsl/copy.h>
#include <flydsl/device.h>
#include <flydsl/device_array.h>
#include <flydsl/error.h>
#include <flydsl/gpu.h>
#include <flydsl/kernel.h>
#include <flydsl/stream.h>
