// What only AMD's targets have: atoms, buffers, scheduling, and instructions one by one.
#pragma once

#include <flydsl/rocdl/atoms.h>
#include <flydsl/rocdl/buffer.h>
#include <flydsl/rocdl/cache.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/matrix_products.h>
#include <flydsl/rocdl/scalar_load.h>
#include <flydsl/rocdl/schedule.h>
