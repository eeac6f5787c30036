#include "jit/compile/rocm/whole_wave_registers.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

namespace flydsl::jit {

void keepWholeWaveRegisters() {
#if LLVM_VERSION_MAJOR == 22 // in which the option is a number
  constexpr llvm::StringRef kName = "amdgpu-num-vgprs-for-wwm-alloc";
  const auto &options = llvm::cl::getRegisteredOptions();
  // Who set it for the process has a reason.
  if (const auto found = options.find(kName);
      found != options.end() && found->second->getNumOccurrences() == 0)
    // The default, because LLD gives all options their defaults again.
    static_cast<llvm::cl::opt<unsigned> *>(found->second)->setInitialValue(64);
#endif
}

} // namespace flydsl::jit
