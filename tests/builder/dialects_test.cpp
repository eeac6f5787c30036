// Which dialects a trace loads.
#include "builder/trace/dialects.h"
#include "builder/trace/trace.h"

#include <flydsl/flydsl.h>
#include <flydsl/rocdl.h>

#include <mlir/Dialect/LLVMIR/ROCDLDialect.h>
#include <mlir/IR/Verifier.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
/// Traces a kernel without parameters in a context of its own; whether that loaded ROCDL.
bool loadsRocdl(void (*body)()) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const fx::detail::KernelSpec spec{"k", [body](fx::ParamReader &) { body(); }, {}, {}};
  const flydsl::builder::TraceResult traced =
      flydsl::builder::traceKernel(spec, {}, {64, 1, 1}, context, fx::Target::parse("gfx942"));
  CHECK(mlir::succeeded(mlir::verify(*traced.module)));
  return context.getLoadedDialect<mlir::ROCDL::ROCDLDialect>() != nullptr;
}
} // namespace

TEST_CASE("ROCDL is loaded by a trace that has an operation of it") {
  CHECK_FALSE(loadsRocdl([] { (void)(fx::thread_idx().x + 1); }));
  CHECK(loadsRocdl([] { fx::rocdl::s_nop(3); }));
  CHECK(loadsRocdl([] { (void)fx::rocdl::readfirstlane(fx::thread_idx().x); }));
}
