// A trace, then the cache or the compiler, with the events that subscribers are told of.
#include "jit/launch/build.h"

#include "builder/trace/dialects.h"
#include "builder/trace/trace.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "jit/binding/read_parameters.h"
#include "jit/compile/compiler.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/kernel_module.h"
#include "jit/compile/module/on_target.h"
#include "jit/compile/module/print_module.h"
#include "jit/launch/events.h"
#include "runtime/current_driver.h"
#include "runtime/profiler_range.h"
#include "support/clock.h"
#include "support/env_check.h"
#include "support/env_variables.h"
#include "support/log.h"

#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <llvm/ADT/StringExtras.h>

#include <functional>
#include <new>
#include <string>

namespace flydsl::jit {
namespace {

EventInfo::Kind eventOf(CacheTier tier) {
  switch (tier) {
  case CacheTier::memory:
    return EventInfo::Kind::memory_hit;
  case CacheTier::disk:
    return EventInfo::Kind::disk_hit;
  case CacheTier::remote:
    return EventInfo::Kind::remote_hit;
  case CacheTier::compiled:
    break;
  }
  return EventInfo::Kind::compiled;
}

/// Refuses hints that LLVM would ignore without a word.
void checkHints(const detail::KernelSpec &spec, const Target &target) {
  if (spec.name.empty())
    throw TraceError("a kernel is called by its name in code, profiles and messages; this one has "
                     "none: fx::Kernel{\"name\", ...}",
                     spec.where);
  const KernelHints &hints = spec.hints;
  const auto &block = hints.known_block_size;
  if (!block[0] && (block[1] || block[2]))
    throw TraceError("kernel " + spec.name + ": the hint known_block_size (0, " +
                         std::to_string(block[1]) + ", " + std::to_string(block[2]) +
                         ") has no x; it is 1 where the block has one column",
                     spec.where);
  if (std::string problem = problemWith(optionsFor(target, hints)); !problem.empty())
    throw TraceError("kernel " + spec.name + ": " + problem, spec.where);
}

/// The kernel of that name; without a name, the first. Throws CompileError where there is none.
const KernelMetadata &kernelOf(const CodeObject &object, const std::string &name) {
  const KernelMetadata *kernel = !name.empty()            ? object.find(name)
                                 : object.kernels.empty() ? nullptr
                                                          : &object.kernels.front();
  if (!kernel)
    throw CompileError("the code object has no kernel " + name);
  return *kernel;
}

/// Takes the code from the cache or compiles it, and fills in all but what the trace knows. `check`
/// throws CompileError for a kernel that the call can't use; if the cache has such a kernel, it is
/// compiled again.
void compileInto(detail::ExecutableState &state, mlir::ModuleOp module,
                 const CompileOptions &options, const std::string &name,
                 const std::function<void(const KernelMetadata &)> &check) {
  const support::Clock::time_point start = support::Clock::now();
  CachedKernel cached = compileCached(
      module, options, [&](const CodeObject &object) { check(kernelOf(object, name)); });
  state.compileMilliseconds = support::millisecondsSince(start);
  state.object = cached.object;
  state.kernel = &kernelOf(*state.object, name);
  state.facts = factsOf(*cached.object, *state.kernel, options.target);
  state.irHash = cached.key.hex();
  state.tier = cached.tier;
}

/// What a call of the kernel takes, by the types of its function.
std::shared_ptr<const detail::ExecutableState::Read> readKernel(mlir::ModuleOp module,
                                                                const KernelMetadata &kernel) {
  auto read = std::make_shared<detail::ExecutableState::Read>();
  read->called = "kernel " + kernel.name;
  module.walk([&](mlir::FunctionOpInterface function) {
    if (function.getName() != kernel.name)
      return mlir::WalkResult::advance();
    read->signature = Signature(readParameters(mlir::TypeRange(function.getArgumentTypes())));
    if (read->signature.canBeCalled())
      read->packed.emplace(operandsOf(read->signature.parameters), kernel);
    return mlir::WalkResult::interrupt();
  });
  return read;
}

void reportCompiled(EventInfo &event, const detail::ExecutableState &state) {
  event.kind = eventOf(state.tier);
  event.key = state.irHash;
  event.milliseconds = state.compileMilliseconds;
  event.bytes = state.object->bytes.size();
  report(event);
}

/// The result of `make`. An exception is reported to subscribers before it goes on.
template <class Make> auto orReported(EventInfo &event, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::exception &error) {
    event.kind = EventInfo::Kind::failed;
    event.error = error.what();
    event.key = {};
    report(event);
    throw;
  }
}

/// Whether the emulator launches code that this process compiles. On a GPU its checks change
/// nothing, and least of all the key.
bool isEmulated() {
  try {
    return runtime::driver().isEmulator;
  } catch (const RuntimeError &) {
    return false; // compiled for another machine
  }
}

/// Whether findings of the emulator's checks will name C++ lines of this code.
bool linesForFindings() {
  const std::string checks = support::env::kEmulatorCheck.get().value_or("none");
  return checks != "none" && checks != "0" && !support::env::kDebugInfo.given() && isEmulated();
}

/// Whether the emulator makes this check of what this process compiles.
bool emulatorChecks(llvm::StringRef wanted) {
  const std::string checks = support::env::kEmulatorCheck.get().value_or("");
  for (llvm::StringRef check : llvm::split(checks, ','))
    if (check.trim() == wanted || check.trim() == "all" || check.trim() == "1")
      return isEmulated();
  return false;
}

/// Why a kernel with several arrays in shared memory has no red zones.
std::string whyNoRedZone(const builder::TraceResult &traced, const Target &target) {
  if (traced.dynamicSharedBytes)
    return "gaps between them would move its dynamic shared memory";
  if (traced.recordsEvents)
    return "its timeline's counts are among them";
  return std::to_string(traced.staticSharedBytes) + " of " + std::to_string(target.lds_bytes()) +
         " bytes leave no room for gaps";
}

/// The red zone between the kernel's arrays in shared memory, if the emulator looks for it.
std::uint64_t redZoneOf(const builder::TraceResult &traced, const Target &target) {
  if (!emulatorChecks("memory"))
    return 0;
  if (traced.hasNeighbours && !traced.redZone)
    support::log().warn("kernel {}: the emulator's check of memory does not see an access past the "
                        "end of an array in shared memory that lands in the next one: {}",
                        traced.kernelName, whyNoRedZone(traced, target));
  return traced.redZone;
}

/// `event` carries the names of kernel and target.
std::shared_ptr<const detail::ExecutableState>
buildReporting(const detail::KernelSpec &spec, std::span<const detail::ArgType> types,
               std::array<unsigned, 3> block, const Target &target, bool keepIr, EventInfo &event) {
  auto state = std::make_shared<detail::ExecutableState>();
  ContextLease context(Dialects::ofBackends, builder::loadDialects);
  const support::Clock::time_point start = support::Clock::now();
  builder::TraceResult traced = [&] {
    runtime::ProfilerRange range("flydsl trace", spec.name);
    try {
      return builder::traceKernel(spec, types, block, *context, target);
    } catch (const std::bad_alloc &) {
      context.ranOutOfMemory();
      throw CompileError("tracing kernel " + spec.name + " failed: there is not enough memory",
                         spec.where);
    }
  }();
  state->traceMilliseconds = support::millisecondsSince(start);
  event.milliseconds = state->traceMilliseconds;
  report(event);
  support::log().debug("event=trace kernel={} target={} ms={:.3f}", spec.name, event.target,
                       state->traceMilliseconds);
  if (keepIr)
    state->ir = printed(*traced.module, Verified::yes);

  {
    runtime::ProfilerRange range("flydsl compile", spec.name);
    CompileOptions options = optionsFor(target, spec.hints);
    options.checkRegisterReads = true;
    options.markUnwritten = emulatorChecks("init");
    options.redZone = redZoneOf(traced, target);
    compileInto(*state, *traced.module, options, traced.kernelName,
                [&](const KernelMetadata &kernel) {
                  checkArgumentLayout(kernel, types, traced.recordsEvents);
                  checkRequiredBlock(kernel, block);
                });
  }
  state->facts.dynamicBytes = traced.dynamicSharedBytes;
  state->variant = std::move(traced.variant);
  if (traced.recordsEvents)
    state->facts.eventNames = eventNames(*state->object);
  checkArgumentLayout(*state->kernel, types, traced.recordsEvents);
  state->block = block;
  reportCompiled(event, *state);
  return state;
}

} // namespace

runtime::LaunchFacts factsOf(const CodeObject &object, const KernelMetadata &kernel,
                             const Target &target) {
  runtime::LaunchFacts facts;
  facts.name = kernel.name;
  facts.target = Target::parse(object.target);
  facts.sharedBytes = kernel.ldsBytes;
  facts.maxSharedBytes = target.lds_bytes();
  if (kernel.maxWorkgroupSize)
    facts.maxBlock = kernel.maxWorkgroupSize;
  for (int i = 0; i < 3; ++i)
    facts.block[static_cast<std::size_t>(i)] = kernel.requiredBlock[i];
  return facts;
}

CompileOptions optionsFor(const Target &target, const KernelHints &hints) {
  CompileOptions options = CompileOptions::fromEnvironment(target);
  options.wavesPerEu = hints.waves_per_eu;
  options.maxRegisters = hints.max_registers;
  options.fastMath = hints.fast_math;
  options.attributes = hints.attributes;
  options.llvmOptions = hints.llvm_options;
  options.lineTables = options.lineTables || linesForFindings();
  return options;
}

std::shared_ptr<const detail::ExecutableState> build(const detail::KernelSpec &spec,
                                                     std::span<const detail::ArgType> types,
                                                     std::array<unsigned, 3> block,
                                                     const Target &target, bool keepIr) {
  support::checkEnvironment();
  checkHints(spec, target);
  const std::string targetId = target.id();
  EventInfo event;
  event.kernel = spec.name;
  event.target = targetId;
  return orReported(event,
                    [&] { return buildReporting(spec, types, block, target, keepIr, event); });
}

void refuseBlockHint(const KernelHints &hints, const char *who, const std::source_location &where) {
  if (const auto &block = hints.known_block_size; block[0] || block[1] || block[2])
    throw CompileError(std::string(who) +
                           " takes no hint known_block_size: a module says the size itself, by "
                           "known_block_size of its gpu.func",
                       where);
}

/// Whether a kernel, as it was read, works on dynamic shared memory; how much of it is not known.
static bool usesDynamicShared(mlir::ModuleOp module, const std::string &kernel) {
  return module
      .walk([&](mlir::fly::GetDynSharedOp shared) {
        auto function = shared->getParentOfType<mlir::gpu::GPUFuncOp>();
        return function && function.getName() == kernel && !shared->use_empty()
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

std::shared_ptr<const detail::ExecutableState> buildModule(mlir::ModuleOp module,
                                                           const CompileOptions &options) {
  support::checkEnvironment();
  if (std::string problem = problemWith(options); !problem.empty())
    throw CompileError(problem);
  const std::string kernel = kernelName(module), targetId = options.target.id();
  EventInfo event;
  event.kernel = kernel;
  event.target = targetId;
  return orReported(event, [&] {
    auto state = std::make_shared<detail::ExecutableState>();
    expectOnTarget(module, options);
    {
      runtime::ProfilerRange range("flydsl compile", kernel);
      compileInto(*state, module, options, {}, [](const KernelMetadata &) {});
    }
    state->read = readKernel(module, *state->kernel);
    if (usesDynamicShared(module, kernel))
      state->facts.dynamicBytes = std::max<std::size_t>(state->facts.dynamicBytes, 1);
    reportCompiled(event, *state);
    return state;
  });
}

} // namespace flydsl::jit
