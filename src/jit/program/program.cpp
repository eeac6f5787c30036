// A call: bind, look up or evaluate the plan, look up or compile and load the kernels, launch.
#include "jit/binding/kernel_operands.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/read_module.h"
#include "jit/compile/options/options.h"
#include "jit/launch/build.h"
#include "jit/launch/choose_target.h"
#include "jit/launch/load.h"
#include "jit/program/evaluate.h"
#include "jit/program/plans.h"
#include "jit/program/read_program.h"
#include "runtime/device_info.h"
#include "runtime/per_device.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/file.h"
#include "support/log.h"
#include "support/process_use.h"
#include "target/from_environment.h"

#include <flydsl/host/program.h>
#include <flydsl/kernel.h>

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <map>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

/// One kernel of the module on a device.
struct LoadedProgramKernel {
  const jit::KernelMetadata *metadata;
  std::unique_ptr<runtime::LoadedKernel> kernel;
};

/// The kernels of the module on a device, by name.
struct LoadedProgram {
  std::shared_ptr<const ExecutableState> code;
  std::map<std::string, LoadedProgramKernel, std::less<>> kernels;
};

} // namespace

class ProgramState {
public:
  ProgramState(jit::ProgramModule module, KernelHints hints)
      : module_(std::move(module)), hints_(std::move(hints)) {
    for (const jit::HostFunction &function : module_.functions)
      plans_.push_back(std::make_unique<jit::Plans>(function));
  }

  void call(const Program::Function &function, std::span<const AnyArg> arguments) {
    const std::size_t index = find(function);
    const jit::HostFunction &host = module_.functions[index];
    jit::CallBytes bound(host.signature.bytes);
    jit::bind(host.signature, arguments, bound.data(), host.name, function.where);
    const jit::KeptPlan *plan = plans_[index]->find(bound.bytes());
    if (!plan) [[unlikely]]
      plan = &plans_[index]->keep(bound.bytes(),
                                  jit::evaluate(module_, host, bound.bytes(), timeout()));
    const Call call{host, arguments, bound.bytes(), function.where};
    std::shared_ptr<const jit::KeptPlan> hold; // those who are told of a load may call a program
    ReadyLaunches ready;
    if (!findReady(*plan, call, ready)) [[unlikely]] {
      hold = plan->shared_from_this();
      if (!prepare(*plan, call))
        return;
      findReady(*plan, call, ready);
    }
    for (std::size_t i = 0; i < ready.size(); ++i)
      run(*plan->launches[i], *ready[i], call);
  }

  const jit::HostFunction &host(const Program::Function &function) const {
    return module_.functions[find(function)];
  }
  const std::vector<jit::HostFunction> &functions() const { return module_.functions; }
  std::size_t evaluated() const {
    std::size_t count = 0;
    for (const auto &plans : plans_)
      count += plans->size();
    return count;
  }

private:
  /// A call whose arguments fit.
  struct Call {
    const jit::HostFunction &host;
    std::span<const AnyArg> arguments;
    std::span<const std::byte> bytes;
    const std::source_location &where;

    StreamRef streamOf(const jit::KeptLaunch &launch) const {
      if (launch.planned.stream < 0)
        return {};
      return arguments[host.signature.streams[static_cast<std::size_t>(launch.planned.stream)]]
          .stream();
    }
  };

  std::size_t find(const Program::Function &function) const {
    for (std::size_t i = 0; i < module_.functions.size(); ++i)
      if (module_.functions[i].name == function.name)
        return i;
    refuseName(function);
  }
  [[noreturn]] void refuseName(const Program::Function &function) const {
    std::string names;
    for (const jit::HostFunction &one : module_.functions)
      names += (names.empty() ? "" : ", ") + one.name;
    throw TraceError(module_.name + " has no function '" + std::string(function.name) +
                         "' that launches kernels; it has: " + names,
                     function.where);
  }

  static unsigned timeout() { return support::env::kCompileTimeout.get(); }

  std::shared_ptr<const ExecutableState> compile(const Target &target) const {
    jit::ContextLease context;
    auto module = jit::readModule(module_.device, module_.name, *context, timeout());
    return jit::buildModule(*module, jit::optionsFor(target, hints_));
  }

  /// For each launch of a plan its kernel.
  using ReadyLaunches = llvm::SmallVector<const jit::ReadyLaunch *, 4>;

  /// False if a kernel was not launched yet on the device of its stream.
  static bool findReady(const jit::KeptPlan &plan, const Call &call, ReadyLaunches &found) {
    found.clear();
    for (const auto &launch : plan.launches) {
      const int device = runtime::deviceOf(call.streamOf(*launch), runtime::driver());
      const jit::ReadyLaunch *ready = launch->ready.find(device);
      if (!ready)
        return false;
      found.push_back(ready);
    }
    return true;
  }

  /// Makes the kernels of the plan ready. False where nothing is to
  /// be launched, but compiled alone.
  bool prepare(const jit::KeptPlan &plan, const Call &call) {
    if (compile_only()) {
      support::log().info("{}", Executable(compile(jit::chooseTarget({}, call.where))).summary());
      return false;
    }
    for (const auto &launch : plan.launches)
      prepare(*launch, runtime::deviceOf(call.streamOf(*launch), runtime::driver()), call);
    return true;
  }

  void prepare(const jit::KeptLaunch &launch, int device, const Call &call) {
    checkLaunch(launch.planned, call.host.name, call.where);
    const LoadedProgram &program = loaded(device, call.where);
    const auto found = program.kernels.find(launch.planned.kernel);
    if (found == program.kernels.end())
      throw CompileError(module_.name + ": the code object has no kernel " + launch.planned.kernel);
    const LoadedProgramKernel &kernel = found->second;
    runtime::checkBlock(launch.config.block, kernel.kernel->facts(), call.where);
    launch.ready.publish(
        device,
        std::make_shared<const jit::ReadyLaunch>(
            kernel.kernel.get(), jit::PackedOperands(launch.planned.operands, *kernel.metadata)));
  }

  /// A launch of C++ may leave its block out, or be of nothing; that of a host function may not.
  static void checkLaunch(const jit::PlannedLaunch &launch, const std::string &function,
                          const std::source_location &where) {
    const std::string of = " of the launch of " + launch.kernel + " is ";
    auto check = [&](const char *what, const std::array<std::int64_t, 3> &extents) {
      if (std::ranges::all_of(extents, [](std::int64_t extent) { return extent >= 1; }))
        return;
      std::string text;
      for (std::int64_t extent : extents)
        text += (text.empty() ? "(" : ", ") + std::to_string(extent);
      throw TraceError(function + ": the " + what + of + text +
                           ") with these arguments; each extent must be 1 or more",
                       where);
    };
    check("grid", launch.grid);
    check("block", launch.block);
    check("cluster", launch.cluster);
    if (launch.smem < 0)
      throw TraceError(function + ": the dynamic shared memory" + of + std::to_string(launch.smem) +
                           " bytes with these arguments; it must be 0 or more",
                       where);
  }

  static void run(const jit::KeptLaunch &launch, const jit::ReadyLaunch &ready, const Call &call) {
    LaunchConfig config = launch.config;
    config.stream = call.streamOf(launch);
    jit::CallBytes packed(ready.operands.size());
    ready.operands.fill(call.bytes, packed.data());
    ready.kernel->launch(config, packed.bytes(), call.where);
  }

  const LoadedProgram &loaded(int device, const std::source_location &where) {
    if (const LoadedProgram *found = loaded_.find(device))
      return *found;
    std::lock_guard lock(loading_); // threads that come meanwhile wait, and do not compile it again
    if (const LoadedProgram *found = loaded_.find(device))
      return *found;
    const Target target = resolveTarget(runtime::deviceInfo(device).archFull);
    auto made = std::make_unique<LoadedProgram>();
    made->code = compile(target);
    for (const jit::KernelMetadata &metadata : made->code->object->kernels)
      made->kernels[metadata.name] = {
          &metadata, jit::load(made->code->object,
                               jit::factsOf(*made->code->object, metadata, target), device, where)};
    return loaded_.publish(device, std::move(made));
  }

  const jit::ProgramModule module_;
  const KernelHints hints_;
  std::vector<std::unique_ptr<jit::Plans>> plans_; ///< one for each function
  std::mutex loading_;
  runtime::PerDevice<LoadedProgram> loaded_{runtime::kMaxDevices};
};

namespace {

/// A limit on a module's size; no dumped module is as large.
constexpr std::uint64_t kMaxModuleBytes = std::uint64_t(1) << 30;

} // namespace
} // namespace detail

Program::Program(std::shared_ptr<detail::ProgramState> state) : state_(std::move(state)) {}

void Program::call(Function function, std::span<const AnyArg> arguments) const {
  support::enterLibrary();
  state_->call(function, arguments);
}

std::vector<std::string> Program::functions() const {
  std::vector<std::string> names;
  for (const jit::HostFunction &function : state_->functions())
    names.push_back(function.name);
  return names;
}

std::vector<std::string> Program::parameters(Function function) const {
  std::vector<std::string> types;
  for (const jit::Parameter &parameter : state_->host(function).signature.parameters)
    if (parameter.isPassed())
      types.push_back(parameter.type);
  return types;
}

std::size_t Program::evaluated() const {
  support::enterLibrary();
  return state_->evaluated();
}

Program parse_program(std::string_view module, const ProgramConfig &config,
                      const std::source_location &where) {
  jit::refuseBlockHint(config.hints, "a program", where);
  return Program(support::makeOutlivingExit<detail::ProgramState>(
      jit::readProgram(module, config.name.empty() ? "module" : config.name, config.trusted,
                       support::env::kCompileTimeout.get()),
      config.hints));
}

Program load_program(const std::string &path, const ProgramConfig &config,
                     const std::source_location &where) {
  support::FileContents contents = support::readAll(path, detail::kMaxModuleBytes);
  if (!contents.bytes)
    throw RuntimeError(path + ": it can't be read: " + contents.problem, 0, where);
  ProgramConfig named = config;
  if (named.name.empty())
    named.name = path;
  return parse_program(
      {reinterpret_cast<const char *>(contents.bytes->data()), contents.bytes->size()}, named,
      where);
}

FLYDSL_NAMESPACE_END
