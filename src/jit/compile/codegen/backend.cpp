// What backends share, and what a backend does unless it says otherwise.
#include "jit/compile/codegen/backend.h"

#include "jit/compile/codegen/codegen.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"

namespace flydsl::jit {

std::vector<std::string> flyStages(const CompileOptions &options, const char *conversion,
                                   const char *expansion, const std::string &unwritten) {
  std::vector<std::string> stages = {"fly-rewrite-func-signature", "fly-canonicalize"};
  if (expansion)
    stages.push_back(expansion);
  for (const char *stage : {"fly-layout-lowering", "fly-int-swizzle-simplify", "canonicalize"})
    stages.push_back(stage);
  if (options.checkRegisterReads) // accesses have their offsets, and copies are whole
    stages.push_back(options.markUnwritten && !unwritten.empty()
                         ? std::string(kRegisterReadsStage) + "{" + unwritten + "}"
                         : kRegisterReadsStage);
  for (const char *stage : {"fly-convert-atom-call-to-ssa-form",
                            "fly-promote-regmem-to-vectorssa{pieces=true}", conversion})
    stages.push_back(stage);
  return stages;
}

std::string Backend::forThisMlir(std::string text) const { return text; }

std::string Backend::problemWith(const CompileOptions &) const { return {}; }

std::string Backend::problemWithAttribute(const std::string &name, const std::string &,
                                          const Target &target) const {
  return "kernels for " + target.name() + " take no attributes, such as " + name;
}

mlir::ArrayAttr Backend::bitcodeOf(mlir::Attribute) const { return {}; }

bool Backend::emit(llvm::Module &module, TargetMachineLease &machine, const CompileOptions &options,
                   llvm::SmallVectorImpl<char> &out) const {
  return jit::emit(module, machine, *this, options, /*assembly=*/false, out);
}

} // namespace flydsl::jit
