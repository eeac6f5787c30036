// Calls of a kernel that was read from IR: its arguments are checked
// by the types of its parameters.
#include "jit/launch/executable_state.h"
#include "jit/launch/load.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {
using namespace flydsl::runtime;

void launchRead(const Executable &executable, std::span<const AnyArg> arguments,
                const LaunchConfig &config, const std::source_location &where) {
  const ExecutableState &state = *ExecutableAccess::state(executable);
  if (!state.read)
    throw TraceError("kernel " + state.facts.name +
                         ": a kernel of C++ takes its arguments by its fx::Kernel, or by what its "
                         "compile() returned; only one of compile_ir takes them here",
                     where);
  const jit::Signature &signature = state.read->signature;
  jit::CallBytes call(signature.bytes);
  jit::bind(signature, arguments, call.data(), state.read->called, where);
  const LaunchConfig &launch =
      !givesBlock(config) && state.facts.block[0] ? withBlock(config, state.facts.block) : config;
  checkBlock(launch.block, state.facts, where);
  jit::CallBytes packed(state.read->packed->size());
  state.read->packed->fill(call.bytes(), packed.data());
  const int device = deviceOf(launch.stream, driver());
  const LoadedKernel *loaded = state.loaded->devices.find(device);
  if (!loaded) [[unlikely]]
    loaded = jit::load(state, device, where).get(); // `state` keeps it
  loaded->launch(launch, packed.bytes(), where);
}

} // namespace detail
FLYDSL_NAMESPACE_END
