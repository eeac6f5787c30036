#include "jit/compile/link/bitcode.h"
#include "jit/compile/link/device_library.h"
#include "jit/compile/options/options.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <string_view>

namespace flydsl::jit {

namespace {

struct Library {
  std::string_view name;
  std::string_view bytes;
};

bool refuse(llvm::LLVMContext &context, const Library &library, const llvm::Twine &what) {
  std::string message = ("linking bitcode " + std::string(library.name) + ": " + what).str();
  context.diagnose(llvm::DiagnosticInfoGeneric(message.c_str(), llvm::DS_Error));
  return false;
}

/// A function or variable that is used, is not defined, and is not LLVM's own.
bool isMissing(const llvm::GlobalValue &value) {
  return value.isDeclaration() && !value.use_empty() && !value.getName().starts_with("llvm.");
}

bool missesAnything(const llvm::Module &module) {
  for (const llvm::GlobalValue &value : module.global_values())
    if (isMissing(value))
      return true;
  return false;
}

bool suppliesAnything(const llvm::Module &library, const llvm::Module &module) {
  for (const llvm::GlobalValue &value : module.global_values())
    if (isMissing(value))
      if (const llvm::GlobalValue *found = library.getNamedValue(value.getName()))
        if (!found->isDeclaration() && !found->hasLocalLinkage())
          return true;
  return false;
}

/// The module that calls decides these.
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
        !name || name->getString() != "amdhsa_code_object_version")
      kept.push_back(flag);
  flags->clearOperands();
  for (llvm::MDNode *flag : kept)
    flags->addOperand(flag);
}

/// False after a diagnostic. `linked` tells whether there was anything to take.
bool linkFrom(const Library &library, llvm::Module &module, bool &linked) {
  llvm::LLVMContext &context = module.getContext();
  llvm::MemoryBufferRef buffer({library.bytes.data(), library.bytes.size()},
                               {library.name.data(), library.name.size()});
  auto parsed = llvm::getLazyBitcodeModule(buffer, context);
  if (!parsed)
    return refuse(context, library, llvm::toString(parsed.takeError()));
  std::unique_ptr<llvm::Module> other = std::move(*parsed);
  const llvm::Triple &triple = other->getTargetTriple();
  if (!triple.str().empty() && triple.getArch() != llvm::Triple::amdgcn)
    return refuse(context, library, "it is for " + triple.str() + ", not for amdgcn");
  linked = suppliesAnything(*other, module);
  if (!linked)
    return true;
  dropOwnSettings(*other, module);
  if (llvm::Linker::linkModules(module, std::move(other), llvm::Linker::LinkOnlyNeeded))
    return refuse(context, library, "the modules do not fit together");
  return true;
}

/// The number by which the device library knows a processor: gfx90a is 9010.
unsigned isaVersion(std::string_view name) {
  auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  name.remove_prefix(3); // gfx
  unsigned major = 0;
  for (char c : name.substr(0, name.size() - 2))
    major = major * 10 + digit(c);
  return major * 1000 + digit(name[name.size() - 2]) * 100 + digit(name.back());
}

/// The constants that the device library asks for, as its documentation lists them.
void setControls(llvm::Module &module, const CompileOptions &options) {
  const struct {
    const char *name;
    unsigned value;
  } controls[] = {{"__oclc_ISA_version", isaVersion(options.target.name())},
                  {"__oclc_ABI_version", 500},
                  {"__oclc_wavefrontsize64", options.target.wave_size() == 64},
                  {"__oclc_finite_only_opt", options.fastMath},
                  {"__oclc_unsafe_math_opt", options.fastMath},
                  {"__oclc_daz_opt", 0},
                  {"__oclc_correctly_rounded_sqrt32", 1}};
  for (const auto &control : controls) {
    llvm::GlobalVariable *variable = module.getGlobalVariable(control.name);
    if (!variable || !variable->isDeclaration())
      continue;
    variable->setInitializer(llvm::ConstantInt::get(variable->getValueType(), control.value));
    variable->setConstant(true);
    variable->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

} // namespace

bool linkBitcode(llvm::Module &module, const CompileOptions &options) {
  std::vector<Library> libraries;
  for (const Bitcode &file : options.bitcode)
    libraries.push_back({file.path, *file.bytes});
  libraries.push_back({"ocml of ROCm's device library", ocmlBitcode()});
  libraries.push_back({"ockl of ROCm's device library", ocklBitcode()});
  // One file may call what another defines, in any order.
  for (bool again = true; again;) {
    again = false;
    for (const Library &library : libraries) {
      bool linked = false;
      if (!missesAnything(module))
        break;
      if (!linkFrom(library, module, linked))
        return false;
      again |= linked;
    }
    setControls(module, options);
  }
  return true;
}

} // namespace flydsl::jit
