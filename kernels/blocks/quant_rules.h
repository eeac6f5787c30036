// What the host says of quantised types.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/quantisation.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The largest magnitude that quantised values get: 127 of i8; of floats the format's largest finite
/// number (OCP's "8-bit Floating Point Specification"; for FNUZ, LLVM's APFloat). 0: no such type.
constexpr double largestOf(DType type) {
  using enum DType::Kind;
  switch (type.kind()) {
  case i8:
    return 127;
  case f8E4M3FN:
    return 448;
  case f8E4M3FNUZ:
    return 240;
  case f8E5M2:
  case f8E5M2FNUZ:
    return 57344;
  default:
    return 0;
  }
}

/// Whether values may be quantised to the type.
inline Support quantisedSupported(const char *name, DType type) {
  if (largestOf(type) != 0)
    return {};
  return Support::no(std::string(name) + " is quantised and of type " + std::string(type.name()) +
                     "; i8 and floats of 8 bits are supported");
}

/// The types of the blocks of the microscaling formats that are supported, by OCP's "Microscaling
/// Formats (MX) Specification" 1.0, table 1.
struct BlockType {
  DType type;
  int exponent; ///< of the largest number
  double most;  ///< the largest number
};
inline constexpr BlockType kBlockTypes[] = {
    {f8E4M3FN, 8, 448}, {f8E5M2, 15, 57344}, {f4E2M1FN, 2, 6}};
constexpr const BlockType *blockType(DType type) {
  for (const BlockType &row : kBlockTypes)
    if (row.type == type)
      return &row;
  return nullptr;
}

/// Whether blocks may have values of the type.
inline Support blockTypeSupported(const char *name, DType type) {
  if (blockType(type))
    return {};
  return Support::no(std::string(name) + " has blocks of type " + std::string(type.name()) +
                     "; f8E4M3FN, f8E5M2 and f4E2M1FN are supported");
}

/// Whether a kernel computes with the type.
inline Support floatSupported(const char *name, DType type) {
  if (type == f32 || type == f16 || type == bf16)
    return {};
  return Support::no(std::string(name) + " is of type " + std::string(type.name()) +
                     "; f32, f16 and bf16 are supported");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
