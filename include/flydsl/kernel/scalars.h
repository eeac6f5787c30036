// The names of the scalars of a kernel, without what they do (flydsl/kernel/numeric.h): what a struct of
// parameters needs.
#pragma once

#include <flydsl/dtype.h>

FLYDSL_NAMESPACE_BEGIN

template <DType::Kind K> class Scalar;
using Boolean = Scalar<DType::Kind::boolean>;
using Int4 = Scalar<DType::Kind::i4>;
using Int8 = Scalar<DType::Kind::i8>;
using Int16 = Scalar<DType::Kind::i16>;
using Int32 = Scalar<DType::Kind::i32>;
using Int64 = Scalar<DType::Kind::i64>;
using UInt4 = Scalar<DType::Kind::u4>;
using UInt8 = Scalar<DType::Kind::u8>;
using UInt16 = Scalar<DType::Kind::u16>;
using UInt32 = Scalar<DType::Kind::u32>;
using UInt64 = Scalar<DType::Kind::u64>;
using Float16 = Scalar<DType::Kind::f16>;
using BFloat16 = Scalar<DType::Kind::bf16>;
using Float32 = Scalar<DType::Kind::f32>;
using Float64 = Scalar<DType::Kind::f64>;
using Float8E4M3FN = Scalar<DType::Kind::f8E4M3FN>;
using Float8E5M2 = Scalar<DType::Kind::f8E5M2>;
using Float8E4M3FNUZ = Scalar<DType::Kind::f8E4M3FNUZ>;
using Float8E5M2FNUZ = Scalar<DType::Kind::f8E5M2FNUZ>;
using Float8E8M0FNU = Scalar<DType::Kind::f8E8M0FNU>;
using Float6E2M3FN = Scalar<DType::Kind::f6E2M3FN>;
using Float6E3M2FN = Scalar<DType::Kind::f6E3M2FN>;
using Float4E2M1FN = Scalar<DType::Kind::f4E2M1FN>;
using Float4E2M1 = Float4E2M1FN;

FLYDSL_NAMESPACE_END
