#include <flydsl/kernel/gpu.h>

#include "builder/trace/tracer.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;

using detail::Dimension;
using Kind = detail::LazyIndex::Kind;

static Int32 lazy(Kind kind, Dimension dimension) {
  return Int32(detail::hostHandle(detail::LazyIndex{kind, dimension}, i32));
}

static Index3 dimensions(const char *what, Kind kind, Loc loc) {
  Tracer::require(what, loc);
  return {lazy(kind, Dimension::x), lazy(kind, Dimension::y), lazy(kind, Dimension::z)};
}

Index3 thread_idx(Loc loc) { return dimensions("thread_idx", Kind::thread, loc); }
Index3 block_idx(Loc loc) { return dimensions("block_idx", Kind::block, loc); }
Index3 block_dim(Loc loc) { return dimensions("block_dim", Kind::block_size, loc); }
Index3 grid_dim(Loc loc) { return dimensions("grid_dim", Kind::grid_size, loc); }

namespace gpu {

void barrier(Loc loc) {
  Tracer &t = Tracer::require("gpu::barrier", loc);
  t.arrivals.expectBlock("a barrier", loc);
  t.create<mlir::gpu::BarrierOp>(loc);
}

Int32 lane_id(Loc loc) {
  Tracer::require("gpu::lane_id", loc);
  return lazy(Kind::lane, Dimension::x);
}

} // namespace gpu
FLYDSL_NAMESPACE_END
