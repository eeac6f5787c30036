#include "builder/trace/tracer.h"

namespace flydsl::builder {

static thread_local Tracer *running = nullptr;
static std::atomic<std::uint64_t> nextId{1};

Tracer::Tracer(mlir::MLIRContext &context, mlir::Block *body, KernelFacts facts, unsigned fastMath)
    : id_(nextId.fetch_add(1)), outer_(running), diagnostics(context), kernel(std::move(facts)),
      ir(context, body, diagnostics), values(ir, diagnostics, kernel, id_), exits(ir, body) {
  ir.setFastMath(fastMath);
  running = this;
}

Tracer::~Tracer() { running = outer_; }

Tracer *Tracer::current() { return running; }

Tracer &Tracer::require(const char *what, Loc loc) {
  if (!running)
    throw TraceError(std::string(what) + " needs a kernel that is being traced", loc);
  return *running;
}

} // namespace flydsl::builder
