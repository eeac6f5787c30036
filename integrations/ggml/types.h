// The element types of ggml as kernels know them.
#pragma once

#include "operand.h"

#include <ggml.h>

namespace flydsl_ggml {

/// The element type of a type whose elements stand alone; none for blocks, and for types that no
/// kernel reads.
inline fx::DType dtypeOf(ggml_type type) {
  switch (type) {
  case GGML_TYPE_F32:
    return fx::f32;
  case GGML_TYPE_F16:
    return fx::f16;
  case GGML_TYPE_BF16:
    return fx::bf16;
  case GGML_TYPE_F64:
    return fx::f64;
  case GGML_TYPE_I8:
    return fx::i8;
  case GGML_TYPE_I16:
    return fx::i16;
  case GGML_TYPE_I32:
    return fx::i32;
  case GGML_TYPE_I64:
    return fx::i64;
  default:
    return {};
  }
}
/// f32, f16 and bf16.
inline bool isFloat(ggml_type type) {
  return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}
inline bool isF32(const ggml_tensor *tensor) { return tensor->type == GGML_TYPE_F32; }
inline bool f32ToF32(const ggml_tensor *op) { return isF32(op) && isF32(op->src[0]); }
/// Whether the blocks of a row, or its elements, follow one another without gaps.
inline bool rowsFollow(const ggml_tensor *x) { return x->nb[0] == ggml_type_size(x->type); }
/// The same of blocks alone: elements may have any stride.
inline bool blocksFollow(const ggml_tensor *x) { return dtypeOf(x->type) || rowsFollow(x); }

/// Whether the number of elements, and each extent, fits the 32-bit indices of the kernels.
inline bool fitsIndices(const ggml_tensor *tensor) {
  return ggml_nelements(tensor) < (std::int64_t{1} << 31);
}

/// The tensor as an operand.
inline HostOperand operandOf(const ggml_tensor *tensor, std::size_t offset = 0) {
  HostOperand operand{};
  if (!tensor)
    return operand;
  operand.address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor->data)) +
                    static_cast<std::int64_t>(offset);
  for (std::size_t d = 0; d < 4; ++d) {
    operand.stride[d] = static_cast<std::int64_t>(tensor->nb[d]);
    operand.extent[d] = static_cast<std::int32_t>(tensor->ne[d]);
  }
  return operand;
}

/// How many neighbours of a row can be loaded together: `most`, a power of two, or as many as each row's
/// length and start are multiples of. Elements of blocks are taken one by one, so any number will do.
inline int widthOf(const HostOperand &x, ggml_type type, int most) {
  const fx::DType dtype = dtypeOf(type);
  if (!dtype)
    return most;
  const std::int64_t size = dtype.bytes();
  if (x.stride[0] != size)
    return 1;
  const auto fits = [&](std::int64_t width) {
    bool all = x.extent[0] % width == 0 && x.address % (width * size) == 0;
    for (std::size_t d = 1; d < 4; ++d)
      all &= x.extent[d] == 1 || x.stride[d] % (width * size) == 0;
    return all;
  };
  while (most > 1 && !fits(most))
    most /= 2;
  return most;
}

/// A parameter of the op.
inline std::int32_t intParam(const ggml_tensor *op, int i) { return op->op_params[i]; }
inline float floatParam(const ggml_tensor *op, int i) {
  float value;
  __builtin_memcpy(&value, &op->op_params[i], sizeof value);
  return value;
}

inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

} // namespace flydsl_ggml
