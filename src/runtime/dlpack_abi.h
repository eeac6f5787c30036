// DLPack's ABI structs, declared here because no package of the system carries its header. The
// layout is that of DLPack 0.2 to 1.x for unversioned managed tensors (dmlc/dlpack,
// include/dlpack/dlpack.h).
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are DLPack's
extern "C" {

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape;
  std::int64_t *strides; // elements; null: row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};
}
// NOLINTEND(readability-identifier-naming)

namespace flydsl::runtime::dlpack {
// DLDeviceType
inline constexpr int kRocm = 10, kRocmHost = 11;
// DLDataTypeCode; the 8-bit and smaller floats are DLPack 1.1's.
inline constexpr int kCodeInt = 0, kCodeUInt = 1, kCodeFloat = 2, kCodeBfloat = 4, kCodeBool = 6,
                     kCodeF8E4M3FN = 10, kCodeF8E4M3FNUZ = 11, kCodeF8E5M2 = 12,
                     kCodeF8E5M2FNUZ = 13, kCodeF8E8M0FNU = 14, kCodeF6E2M3FN = 15,
                     kCodeF6E3M2FN = 16, kCodeF4E2M1FN = 17;
} // namespace flydsl::runtime::dlpack
