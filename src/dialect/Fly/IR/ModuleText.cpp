#include "dialect/Fly/IR/ModuleText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace mlir::fly {

/// The bits of llvm.amdgcn.sched.barrier's mask (LLVM, AMDGPUUsage).
static std::optional<unsigned> schedMask(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
      .Case("none", 0)
      .Case("non_mem_non_sideeffect", 0x1)
      .Case("valu", 0x2)
      .Case("salu", 0x4)
      .Case("mfma_wmma", 0x8)
      .Case("all_vmem", 0x10)
      .Case("vmem_read", 0x20)
      .Case("vmem_write", 0x40)
      .Case("all_ds", 0x80)
      .Case("ds_read", 0x100)
      .Case("ds_write", 0x200)
      .Case("transcendental", 0x400)
      .Default(std::nullopt);
}

/// `valu|ds_read` as a number.
static std::optional<unsigned> schedMasks(llvm::StringRef names) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  names.split(parts, '|');
  unsigned mask = 0;
  for (llvm::StringRef part : parts) {
    std::optional<unsigned> bits = schedMask(part.trim());
    if (!bits)
      return std::nullopt;
    mask |= *bits;
  }
  return mask;
}

std::string withNumericSchedMasks(llvm::StringRef text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    size_t at = text.find("rocdl.sched.");
    out += text.take_front(at);
    if (at == llvm::StringRef::npos)
      return out;
    text = text.drop_front(at);
    llvm::StringRef op;
    for (llvm::StringRef name : {"rocdl.sched.barrier ", "rocdl.sched.group.barrier "})
      if (text.starts_with(name))
        op = name;
    if (op.empty())
      op = text.take_front(1);
    out += op;
    text = text.drop_front(op.size());
    llvm::StringRef names =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '|'; });
    if (op.size() == 1 || names.empty())
      continue;
    if (std::optional<unsigned> mask = schedMasks(names)) {
      out += std::to_string(*mask);
      text = text.drop_front(names.size());
    }
  }
}

} // namespace mlir::fly
