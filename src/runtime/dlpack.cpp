// Tensors of other libraries, through DLPack.
#include "runtime/dlpack_abi.h"

#include <flydsl/host/host_tensor.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

static DType dtypeOf(const DLDataType &type) {
  if (type.lanes != 1)
    return {};
  switch (type.code) {
  case dlpack::kCodeInt:
    return type.bits == 8    ? i8
           : type.bits == 16 ? i16
           : type.bits == 32 ? i32
           : type.bits == 64 ? i64
                             : DType();
  case dlpack::kCodeUInt:
    return type.bits == 8    ? u8
           : type.bits == 16 ? u16
           : type.bits == 32 ? u32
           : type.bits == 64 ? u64
                             : DType();
  case dlpack::kCodeFloat:
    return type.bits == 16 ? f16 : type.bits == 32 ? f32 : type.bits == 64 ? f64 : DType();
  case dlpack::kCodeBfloat:
    return type.bits == 16 ? bf16 : DType();
  case dlpack::kCodeBool:
    return type.bits == 8 ? u8 : DType(); // a byte in memory
  case dlpack::kCodeF8E4M3FN:
    return f8E4M3FN;
  case dlpack::kCodeF8E4M3FNUZ:
    return f8E4M3FNUZ;
  case dlpack::kCodeF8E5M2:
    return f8E5M2;
  case dlpack::kCodeF8E5M2FNUZ:
    return f8E5M2FNUZ;
  case dlpack::kCodeF8E8M0FNU:
    return f8E8M0FNU;
  case dlpack::kCodeF6E2M3FN:
    return f6E2M3FN;
  case dlpack::kCodeF6E3M2FN:
    return f6E3M2FN;
  case dlpack::kCodeF4E2M1FN:
    return f4E2M1FN;
  default:
    return {};
  }
}

TensorArg from_dlpack(const DLManagedTensor *managed, std::source_location where) {
  if (!managed)
    throw TraceError("from_dlpack: a null managed tensor", where);
  const DLTensor &t = managed->dl_tensor;
  if (t.device.device_type != dlpack::kRocm && t.device.device_type != dlpack::kRocmHost)
    throw TraceError("from_dlpack: the tensor is on DLPack device type " +
                         std::to_string(t.device.device_type) +
                         "; kernels take ROCm memory (10 or 11)",
                     where);
  DType dtype = dtypeOf(t.dtype);
  if (!dtype)
    throw TraceError("from_dlpack: no element type for DLPack code " +
                         std::to_string(t.dtype.code) + " with " + std::to_string(t.dtype.bits) +
                         " bits and " + std::to_string(t.dtype.lanes) + " lanes",
                     where);
  if (t.ndim < 0)
    throw TraceError("from_dlpack: a negative rank", where);
  const auto rank = static_cast<std::size_t>(t.ndim);
  if (rank && !t.shape)
    throw TraceError("from_dlpack: a rank of " + std::to_string(rank) + " without a shape", where);
  std::uintptr_t first = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(t.data), t.byte_offset, &first))
    throw TraceError("from_dlpack: the byte offset " + std::to_string(t.byte_offset) +
                         " leaves the address space",
                     where);
  TensorArg::Dims strides;
  if (t.strides)
    strides = {t.strides, rank};
  return TensorArg(reinterpret_cast<void *>(first), dtype, {t.shape, rank}, strides, where)
      .mark_layout_static();
}

FLYDSL_NAMESPACE_END
