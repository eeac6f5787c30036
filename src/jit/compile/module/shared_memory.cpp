// Adds up the shared variables of a kernel by the line that declares them.
#include "jit/compile/module/shared_memory.h"

#include "jit/compile/module/compile_diagnostics.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

#include <algorithm>

namespace flydsl::jit {

std::vector<SharedUse> sharedUses(mlir::Operation *gpuModule, unsigned addressSpace) {
  std::vector<SharedUse> uses;
  const mlir::DataLayout layout = mlir::DataLayout::closest(gpuModule);
  for (auto global : gpuModule->getRegion(0).getOps<mlir::LLVM::GlobalOp>()) {
    if (global.getAddrSpace() != addressSpace)
      continue;
    const std::uint64_t bytes = layout.getTypeSize(global.getType()).getFixedValue();
    const SourceLocation place = sourceLocation(global.getLoc());
    auto same = std::ranges::find_if(uses, [&](const SharedUse &use) {
      return use.place.line == place.line && use.place.file == place.file;
    });
    if (same != uses.end())
      same->bytes += bytes;
    else if (bytes)
      uses.push_back({bytes, place});
  }
  std::ranges::sort(uses, [](const SharedUse &a, const SharedUse &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.place.line < b.place.line;
  });
  return uses;
}

std::string overSharedLimit(const std::vector<SharedUse> &uses, std::uint64_t bytes,
                            std::uint64_t limit) {
  constexpr std::size_t most = 8;
  std::string text = std::to_string(bytes) + " bytes of shared memory are over the " +
                     std::to_string(limit) + " that a workgroup may have";
  for (std::size_t i = 0; i < std::min(uses.size(), most); ++i) {
    const SharedUse &use = uses[i];
    text += (i ? ", " : ": ") + std::to_string(use.bytes) + (i ? "" : " bytes");
    if (use.place.known())
      text += " at " + use.place.file + ":" + std::to_string(use.place.line);
  }
  return uses.size() > most ? text + " and more" : text;
}

} // namespace flydsl::jit
