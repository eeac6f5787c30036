// How kernels over rows share them among threads.
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The configuration of all families whose blocks work on whole rows.
struct FLYDSL_API RowConfig {
  /// Threads of a row: a power of two up to the wave (a block then has several rows), or the
  /// whole block.
  int threads = 256;
  /// Threads of a block.
  int block = 256;
  /// True if a row's elements stay in registers between the passes over it, so that memory is read
  /// once; otherwise each pass reads it again.
  bool resident = true;
  friend bool operator==(const RowConfig &, const RowConfig &) = default;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
