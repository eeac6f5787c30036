// MLIR sends most math operations to ROCm's device library (names __ocml_<function>_<type>), which
// is not there where no ROCm is. Those that the AMDGPU code generator lowers by itself, to within
// the accuracy that OpenCL asks for, become intrinsics here. The rest stays a call, and linking
// names it.
#include "jit/codegen.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

namespace {

struct Function {
  llvm::StringRef name;
  llvm::Intrinsic::ID intrinsic; ///< not_intrinsic: the reciprocal square root
  bool doubleToo;                ///< the code generator has no f64 form of the others
};

const Function functions[] = {
    {"exp2", llvm::Intrinsic::exp2, false},   {"log2", llvm::Intrinsic::log2, false},
    {"log10", llvm::Intrinsic::log10, false}, {"exp", llvm::Intrinsic::exp, false},
    {"log", llvm::Intrinsic::log, false},     {"floor", llvm::Intrinsic::floor, true},
    {"ceil", llvm::Intrinsic::ceil, true},    {"rint", llvm::Intrinsic::rint, true},
    {"trunc", llvm::Intrinsic::trunc, true},  {"sqrt", llvm::Intrinsic::sqrt, true},
    {"fabs", llvm::Intrinsic::fabs, true},    {"rsqrt", llvm::Intrinsic::not_intrinsic, true},
};

const Function *find(llvm::StringRef symbol) {
  if (!symbol.consume_front("__ocml_"))
    return nullptr;
  bool isDouble = symbol.consume_back("_f64");
  if (!isDouble && !symbol.consume_back("_f32") && !symbol.consume_back("_f16"))
    return nullptr;
  for (const Function &function : functions)
    if (function.name == symbol && (function.doubleToo || !isDouble))
      return &function;
  return nullptr;
}

} // namespace

void useNativeMath(llvm::Module &module) {
  for (llvm::Function &declaration : llvm::make_early_inc_range(module)) {
    const Function *function = declaration.isDeclaration() ? find(declaration.getName()) : nullptr;
    if (!function)
      continue;
    for (llvm::User *user : llvm::make_early_inc_range(declaration.users())) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || call->getCalledFunction() != &declaration || call->arg_size() != 1)
        continue;
      llvm::IRBuilder<> builder(call);
      if (call->getFastMathFlags().any())
        builder.setFastMathFlags(call->getFastMathFlags());
      llvm::Value *operand = call->getArgOperand(0), *result;
      if (function->intrinsic == llvm::Intrinsic::not_intrinsic) {
        llvm::Value *root = builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand);
        result = builder.CreateFDiv(llvm::ConstantFP::get(operand->getType(), 1.0), root);
      } else {
        result = builder.CreateUnaryIntrinsic(function->intrinsic, operand);
      }
      call->replaceAllUsesWith(result);
      call->eraseFromParent();
    }
    if (declaration.use_empty())
      declaration.eraseFromParent();
  }
}

} // namespace flydsl::jit
