// A call: bind, look up or evaluate the plan, look up or compile and load the kernels, launch.
#include "jit/binding/kernel_operands.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/read_module.h"
#include "jit/compile/options/options.h"
#include "jit/launch/build.h"
#include "jit/launch/choose_target.h"
#include "jit/launch/load.h"
#include "jit/program/evaluate.h"
#include "jit/program/read_program.h"
#include "runtime/device_info.h"
#include "runtime/per_device.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/file.h"
#include "support/log.h"
#include "target/from_environment.h"

#include <flydsl/kernel.h>
#include <flydsl/program.h>

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

/// The most plans that a function keeps; a call beyond them begins anew.
constexpr std::size_t kMostPlans = 4096;

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

/// The plans of one function.
class Plans {
public:
  std::shared_ptr<const jit::Plan> find(const std::string &key) const {
    std::shared_lock lock(mutex_);
    auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }
  std::shared_ptr<const jit::Plan> keep(const std::string &key, jit::Plan plan) {
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMostPlans)
      plans_.clear();
    return plans_.try_emplace(key, std::make_shared<jit::Plan>(std::move(plan))).first->second;
  }
  std::size_t size() const {
    std::shared_lock lock(mutex_);
    return plans_.size();
  }

private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const jit::Plan>> plans_;
};

} // namespace

class ProgramState {
public:
  ProgramState(jit::ProgramModule module, KernelHints hints)
      : module_(std::move(module)), hints_(std::move(hints)), plans_(module_.functions.size()) {}

  void call(Program::Function function, std::span<const AnyArg> arguments) {
    const std::size_t index = find(function);
    const jit::HostFunction &host = module_.functions[index];
    const jit::BoundArguments bound =
        jit::bind(host.parameters, arguments, host.name, function.where);
    const std::shared_ptr<const jit::Plan> plan = planOf(index, bound);
    if (compile_only()) {
      const Target target = jit::chooseTarget({}, function.where);
      support::log().info("{}", Executable(compile(target)).summary());
      return;
    }
    for (const jit::PlannedLaunch &launch : *plan)
      run(launch, bound, function.where);
  }

  const jit::HostFunction &host(Program::Function function) const {
    return module_.functions[find(function)];
  }
  const std::vector<jit::HostFunction> &functions() const { return module_.functions; }
  std::size_t evaluated() const {
    std::size_t count = 0;
    for (const Plans &plans : plans_)
      count += plans.size();
    return count;
  }

private:
  std::size_t find(Program::Function function) const {
    std::string names;
    for (std::size_t i = 0; i < module_.functions.size(); ++i) {
      if (module_.functions[i].name == function.name)
        return i;
      names += (names.empty() ? "" : ", ") + module_.functions[i].name;
    }
    throw TraceError(module_.name + " has no function '" + std::string(function.name) +
                         "' that launches kernels; it has: " + names,
                     function.where);
  }

  static unsigned timeout() { return support::env::kCompileTimeout.get(); }

  /// Calls that agree in the slots that decide have one plan.
  std::shared_ptr<const jit::Plan> planOf(std::size_t index, const jit::BoundArguments &bound) {
    const jit::HostFunction &host = module_.functions[index];
    std::string key;
    for (const jit::Slot &slot : host.slots)
      if (slot.decides)
        key.append(reinterpret_cast<const char *>(bound.bytes.data()) + slot.piece.offset,
                   slot.piece.size);
    if (std::shared_ptr<const jit::Plan> plan = plans_[index].find(key))
      return plan;
    return plans_[index].keep(key, jit::evaluate(module_, host, bound.bytes, timeout()));
  }

  std::shared_ptr<const ExecutableState> compile(const Target &target) const {
    jit::ContextLease context;
    auto module = jit::readModule(module_.device, module_.name, *context, timeout());
    return jit::buildModule(*module, jit::optionsFor(target, hints_));
  }

  void run(const jit::PlannedLaunch &launch, const jit::BoundArguments &bound,
           const std::source_location &where) {
    LaunchConfig config;
    config.grid = dim3(launch.grid);
    config.block = dim3(launch.block);
    config.cluster = dim3(launch.cluster);
    config.smem = launch.smem;
    if (launch.stream >= 0)
      config.stream = bound.streams[static_cast<std::size_t>(launch.stream)];
    const LoadedProgram &program =
        loaded(runtime::deviceOf(config.stream, runtime::driver()), where);
    const auto found = program.kernels.find(launch.kernel);
    if (found == program.kernels.end())
      throw CompileError(module_.name + ": the code object has no kernel " + launch.kernel);
    const LoadedProgramKernel &kernel = found->second;
    runtime::checkBlock(config.block, kernel.kernel->facts(), where);
    kernel.kernel->launch(config, jit::packOperands(launch.operands, bound.bytes, *kernel.metadata),
                          where);
  }

  static Dim3 dim3(const std::array<std::int64_t, 3> &extents) {
    return Dim3(extents[0], extents[1], extents[2]);
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
  std::vector<Plans> plans_;
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
  for (const jit::Parameter &parameter : state_->host(function).parameters)
    if (parameter.isPassed())
      types.push_back(parameter.type);
  return types;
}

std::size_t Program::evaluated() const { return state_->evaluated(); }

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
