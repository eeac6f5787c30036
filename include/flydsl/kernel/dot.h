// Products of whole numbers of 8 bits, four at a time.
#pragma once

#include <flydsl/kernel/numeric.h>
#include <flydsl/kernel/scalars.h>

FLYDSL_NAMESPACE_BEGIN

/// sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, where a0 to a3 are the bytes of `a` and b0 to b3 those of `b`,
/// lowest first, as numbers with a sign: -128 to 127. The result has 32 bits and wraps around. One
/// instruction where the target has one: v_dot4_i32_i8 on AMD's targets with feature::mfma,
/// v_dot4_i32_iu8 on those with feature::wmma; otherwise shifts, products and additions.
FLYDSL_API Int32 dot4(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
