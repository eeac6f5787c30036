#include <flydsl/gpu.h>

#include "builder/trace/tracer.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;

static Int32 lazy(const char *op, const char *dimension) {
  return Int32(detail::hostHandle(detail::LazyIndex{op, dimension}, i32));
}

static Index3 dimensions(const char *op, Loc loc) {
  Tracer::require(op, loc);
  return {lazy(op, "x"), lazy(op, "y"), lazy(op, "z")};
}

Index3 thread_idx(Loc loc) { return dimensions("gpu.thread_id", loc); }
Index3 block_idx(Loc loc) { return dimensions("gpu.block_id", loc); }
Index3 block_dim(Loc loc) { return dimensions("gpu.block_dim", loc); }
Index3 grid_dim(Loc loc) { return dimensions("gpu.grid_dim", loc); }

namespace gpu {

void barrier(Loc loc) {
  Tracer &t = Tracer::require("gpu::barrier", loc);
  t.expectAllThreads("a barrier", loc);
  t.create("gpu.barrier", {}, loc, {}, mlir::TypeRange());
}

Int32 lane_id(Loc loc) {
  Tracer::require("gpu::lane_id", loc);
  return lazy("gpu.lane_id", nullptr);
}

} // namespace gpu
FLYDSL_NAMESPACE_END
