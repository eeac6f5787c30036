// What a backend does unless it says otherwise.
#include "jit/compile/codegen/backend.h"

#include "jit/compile/codegen/codegen.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace flydsl::jit {

std::string Backend::problemWith(const CompileOptions &) const { return {}; }

mlir::ArrayAttr Backend::bitcodeOf(mlir::Attribute) const { return {}; }

bool Backend::emit(llvm::Module &module, llvm::TargetMachine &machine,
                   llvm::SmallVectorImpl<char> &out) const {
  return jit::emit(module, machine, /*assembly=*/false, out);
}

} // namespace flydsl::jit
