#include "fake_params.h"
#include "jit/compile/build_id.h"
#include "jit/compile/disassemble.h"
#include "jit/launch/build.h"

#include <mutex>

FakeBuild &fakeBuild() {
  static FakeBuild build;
  return build;
}

namespace flydsl::jit {

const std::string &buildIdentity() {
  static const std::string identity = "a build of its own";
  return identity;
}

std::shared_ptr<const detail::ExecutableState> build(const detail::KernelSpec &spec,
                                                     std::span<const detail::ArgType> types,
                                                     std::array<unsigned, 3> block,
                                                     const Target &target, bool) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  FakeBuild &fake = fakeBuild();
  ++fake.builds;
  fake.types.clear();
  std::vector<detail::ParamHandle> handles;
  for (const detail::ArgType &type : types) {
    fake.types.push_back(type.str());
    handles.push_back({nullptr, &type});
  }
  detail::ParamReader reader(handles.data(), handles.size());
  spec.body(reader);

  auto object = std::make_shared<CodeObject>();
  object->target = fake.target.empty() ? target.id() : fake.target;
  object->bytes = {1, 2, 3};
  KernelMetadata &kernel = object->kernels.emplace_back();
  const std::string configuration = reader.symbol().str();
  kernel.name = spec.name + (configuration.empty() ? "" : "_") + configuration;
  kernel.vgprSpills = fake.spills;
  auto state = std::make_shared<detail::ExecutableState>();
  state->kernel = &object->kernels.front();
  state->object = object;
  state->block = block;
  state->variant = reader.variant().str();
  state->facts.name = kernel.name;
  state->facts.target = Target::parse(object->target);
  state->facts.sharedBytes = fake.sharedBytes;
  state->facts.dynamicBytes = fake.dynamicBytes;
  state->facts.maxSharedBytes = target.lds_bytes();
  state->facts.maxBlock = fake.maxBlock;
  state->facts.block = block;
  return state;
}

std::string disassemble(const CodeObject &object) {
  return "no instructions in " + std::to_string(object.bytes.size()) + " bytes\n";
}

} // namespace flydsl::jit
