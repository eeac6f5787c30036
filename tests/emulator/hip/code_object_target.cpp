#include "code_object_target.h"

#include "emulator/loader/kernarg.h"
#include "emulator/loader/loaded_code.h"
#include "emulator/loader/offload_bundle.h"
#include "emulator/observe/run_dispatch.h"

#include <algorithm>

namespace flyemu::fuzz {

namespace {
class KernargOnly : public MemoryMap {
public:
  explicit KernargOnly(const std::vector<uint8_t> &bytes)
      : range{reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), false} {}
  bool find(uint64_t address, MemoryRange &found) const override {
    found = range;
    return range.contains(address, 1);
  }

private:
  MemoryRange range;
};

void launch(const loader::CodeKernel &kernel) {
  const KernelCode code = kernel.ready();
  if (code.source)
    (void)code.source(code.entry);
  std::vector<uint8_t> kernarg(std::min<size_t>(kernel.metadata.kernargSize, 1 << 16) + 64, 0);
  KernargOnly memory(kernarg);
  Dispatch dispatch;
  dispatch.kernel = &code;
  dispatch.block = {64, 1, 1};
  dispatch.kernarg = reinterpret_cast<uint64_t>(kernarg.data());
  dispatch.kernargSize = kernel.metadata.kernargSize;
  // Scratch as large as a damaged descriptor says would only test the host's memory.
  if (code.descriptor.privateSegmentFixedSize > 1 << 20 || kernel.metadata.kernargSize > 1 << 16)
    return;
  Options options;
  options.threads = 1;
  options.instructionLimit = 1;
  options.checks = kCheckMemory | kCheckRace | kCheckInit | kCheckSync;
  options.counters = true;
  runDispatch(dispatch, memory, options);
}
} // namespace

unsigned runCodeObject(const uint8_t *data, size_t size) {
  static const loader::TargetId device = loader::deviceTarget("gfx942");
  loader::ByteView image(data, size);
  unsigned launched = 0;
  try {
    std::vector<uint8_t> expanded;
    if (loader::isOffloadBundle(image))
      image = loader::selectFromBundle(image, device, expanded);
    auto object = loader::LoadedCode::load(image, device);
    for (const auto &[name, kernel] : object->kernels()) {
      launch(kernel);
      ++launched;
    }
  } catch (const loader::LoadError &) {
  }
  return launched;
}

} // namespace flyemu::fuzz
