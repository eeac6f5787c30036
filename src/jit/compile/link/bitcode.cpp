// Libraries are read lazily: only the functions that are taken are read in full.
#include "jit/compile/link/bitcode.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <string_view>
#include <vector>

namespace flydsl::jit {

namespace {

bool refuse(llvm::LLVMContext &context, const BitcodeLibrary &library, const llvm::Twine &what) {
  std::string message = ("linking bitcode " + std::string(library.name) + ": " + what).str();
  context.diagnose(llvm::DiagnosticInfoGeneric(message.c_str(), llvm::DS_Error));
  return false;
}

/// A function or variable that is used, is not defined, and is not LLVM's own. A declared variable
/// in shared memory stands for what the launch gives, and no library has it.
bool isMissing(const llvm::GlobalValue &value, unsigned sharedSpace) {
  return value.isDeclaration() && !value.use_empty() && value.getAddressSpace() != sharedSpace &&
         !value.getName().starts_with("llvm.");
}

bool missesAnything(const llvm::Module &module, unsigned sharedSpace) {
  for (const llvm::GlobalValue &value : module.global_values())
    if (isMissing(value, sharedSpace))
      return true;
  return false;
}

bool suppliesAnything(const llvm::Module &library, const llvm::Module &module,
                      unsigned sharedSpace) {
  for (const llvm::GlobalValue &value : module.global_values())
    if (isMissing(value, sharedSpace))
      if (const llvm::GlobalValue *found = library.getNamedValue(value.getName()))
        if (!found->isDeclaration() && !found->hasLocalLinkage())
          return true;
  return false;
}

/// The module that calls decides these: the layout of data, the processor, and the flags that it
/// has set.
void dropOwnSettings(llvm::Module &library, const llvm::Module &module) {
  library.setDataLayout(module.getDataLayout());
  library.setTargetTriple(module.getTargetTriple());
  for (llvm::Function &function : library)
    for (const char *attribute : {"target-cpu", "target-features"})
      function.removeFnAttr(attribute);
  llvm::NamedMDNode *flags = library.getModuleFlagsMetadata();
  if (!flags)
    return;
  std::vector<llvm::MDNode *> kept;
  for (llvm::MDNode *flag : flags->operands())
    if (auto *name = llvm::dyn_cast<llvm::MDString>(flag->getOperand(1));
        !name || !module.getModuleFlag(name->getString()))
      kept.push_back(flag);
  flags->clearOperands();
  for (llvm::MDNode *flag : kept)
    flags->addOperand(flag);
}

/// False after a diagnostic. `linked` tells whether there was anything to take.
bool linkFrom(const BitcodeLibrary &library, llvm::Module &module, unsigned sharedSpace,
              bool &linked) {
  llvm::LLVMContext &context = module.getContext();
  llvm::MemoryBufferRef buffer({library.bytes.data(), library.bytes.size()},
                               {library.name.data(), library.name.size()});
  auto parsed = llvm::getLazyBitcodeModule(buffer, context);
  if (!parsed)
    return refuse(context, library, llvm::toString(parsed.takeError()));
  std::unique_ptr<llvm::Module> other = std::move(*parsed);
  const llvm::Triple &triple = other->getTargetTriple();
  if (!triple.str().empty() && triple.getArch() != module.getTargetTriple().getArch())
    return refuse(context, library,
                  "it is for " + triple.str() + ", not for " +
                      module.getTargetTriple().getArchName());
  linked = suppliesAnything(*other, module, sharedSpace);
  if (!linked)
    return true;
  dropOwnSettings(*other, module);
  if (llvm::Linker::linkModules(module, std::move(other), llvm::Linker::LinkOnlyNeeded))
    return refuse(context, library, "the modules do not fit together");
  return true;
}

} // namespace

bool linkBitcode(llvm::Module &module, std::span<const BitcodeLibrary> libraries,
                 unsigned sharedSpace, llvm::function_ref<void(llvm::Module &)> settle) {
  // One file may call what another defines, in any order.
  for (bool again = true; again;) {
    again = false;
    for (const BitcodeLibrary &library : libraries) {
      bool linked = false;
      if (!missesAnything(module, sharedSpace))
        break;
      if (!linkFrom(library, module, sharedSpace, linked))
        return false;
      again |= linked;
    }
    settle(module);
  }
  return true;
}

} // namespace flydsl::jit
