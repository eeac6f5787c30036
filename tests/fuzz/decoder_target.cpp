#include "decoder_target.h"

#include "emulator/core/dispatch.h"
#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace flyemu::fuzz {

namespace {
class OneBuffer : public MemoryMap {
public:
  explicit OneBuffer(std::vector<uint8_t> &bytes)
      : range{reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), true} {}
  bool find(uint64_t address, MemoryRange &found) const override {
    found = range;
    return range.contains(address, 1);
  }

private:
  MemoryRange range;
};
} // namespace

void runCode(const uint8_t *data, size_t size) {
  if (size < 5)
    return;
  const std::string target = kTargets[data[0] % std::size(kTargets)];
  std::vector<uint32_t> words((size - 1) / 4);
  std::memcpy(words.data(), data + 1, words.size() * 4);
  std::vector<uint8_t> memory(4096);
  OneBuffer map(memory);

  KernelCode kernel;
  kernel.name = "fuzzed";
  kernel.program = decodeProgram(target, words.data(), words.size() * 4);
  kernel.entry = reinterpret_cast<uint64_t>(words.data());
  KernelDescriptor &d = kernel.descriptor;
  d.groupSegmentFixedSize = 1024;
  d.privateSegmentFixedSize = 64;
  d.properties = 1 << 3; // the kernarg pointer: the way to the memory
  d.rsrc2 = 2 << 1;
  d.rsrc1 = 0xf0 << 12;
  d.rsrc3 = 63;
  Dispatch launch;
  launch.kernel = &kernel;
  launch.block = {96, 1, 1};
  launch.kernarg = reinterpret_cast<uint64_t>(memory.data());
  launch.kernargSize = 64;
  Options options;
  options.threads = 1;
  options.instructionLimit = 1; // looked at after a slice of instructions
  options.counters = data[0] & 0x40;
  options.checks =
      data[0] & 0x80 ? kCheckMemory | kCheckRace | kCheckInit | kCheckSync : kCheckNone;
  const DispatchResult result = runDispatch(launch, map, options);
  if (!result.ok && result.fault.message.empty())
    throw std::logic_error("a fault without a message");
}

} // namespace flyemu::fuzz
