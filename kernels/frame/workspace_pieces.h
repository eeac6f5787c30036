// A workspace as pieces, one after another. Each begins at a multiple of 256 bytes.
#pragma once

#include "frame/family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Deals the bytes of a workspace out.
class WorkspacePieces {
public:
  /// The first byte of the next piece, which has so many bytes.
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t first = bytes_;
    bytes_ += (bytes + kAlign - 1) / kAlign * kAlign;
    return first;
  }
  /// The bytes of all pieces.
  std::int64_t bytes() const { return bytes_; }

private:
  static constexpr std::int64_t kAlign = 256;
  std::int64_t bytes_ = 0;
};

/// The piece of a workspace from its byte `first` on, as a contiguous tensor.
inline TensorArg pieceOfWorkspace(const TensorArg &workspace, std::int64_t first, DType dtype,
                                  const Extents &shape) {
  return tensor(static_cast<void *>(static_cast<char *>(workspace.data()) + first), dtype, shape);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
