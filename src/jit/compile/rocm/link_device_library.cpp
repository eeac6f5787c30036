// ROCm's device library asks for constants that say what it runs on; they are set here.
#include "jit/compile/link/bitcode.h"
#include "jit/compile/rocm/device_library.h"
#include "jit/compile/rocm/llvm_target.h"
#include "jit/compile/rocm/rocm_codegen.h"
#include "target/isa_version.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

namespace {

/// LDS (LLVM's AMDGPUUsage, "Address Spaces").
constexpr unsigned kSharedSpace = 3;

/// The constants that the device library asks for, as its documentation lists them.
void setControls(llvm::Module &module, const CompileOptions &options) {
  const struct {
    const char *name;
    unsigned value;
  } controls[] = {{"__oclc_ISA_version", flydsl::detail::isaVersion(options.target.name())},
                  {"__oclc_ABI_version", kCodeObjectVersion},
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

bool linkWithDeviceLibrary(llvm::Module &module, const CompileOptions &options) {
  std::vector<BitcodeLibrary> libraries;
  for (const Bitcode &file : options.bitcode)
    libraries.push_back({file.path, *file.bytes});
  libraries.push_back({"ocml of ROCm's device library", ocmlBitcode()});
  libraries.push_back({"ockl of ROCm's device library", ocklBitcode()});
  return linkBitcode(module, libraries, kSharedSpace,
                     [&](llvm::Module &linked) { setControls(linked, options); });
}

} // namespace flydsl::jit
