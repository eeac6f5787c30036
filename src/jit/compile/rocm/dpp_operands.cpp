// LLVM 22 folds a move between lanes (DPP) into the instruction that uses its result. On RDNA it
// does so even if that instruction has a 64-bit operand, such as v_mad_u64_u32, which has no form
// with DPP there: the object then holds bytes that are no instruction (LLVM's pull requests 217894
// and 222216 correct it in a later version). So results that may end in such an instruction are
// hidden from the fold.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

/// True if no user of a 32-bit value is selected as an instruction with a 64-bit operand.
static bool usersStayNarrow(const llvm::Value &value) {
  for (const llvm::User *user : value.users()) {
    const auto *instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction)
      return false;
    switch (instruction->getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::Trunc:
      if (!usersStayNarrow(*instruction))
        return false;
      continue;
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::ICmp:
    case llvm::Instruction::FCmp:
    case llvm::Instruction::Select:
      continue;
    default:
      break;
    }
    const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
    if (!intrinsic)
      return false;
    switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum:
    case llvm::Intrinsic::amdgcn_readlane:
    case llvm::Intrinsic::amdgcn_readfirstlane:
      continue;
    default:
      return false;
    }
  }
  return true;
}

void hideDppFromWideOperands(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.getIntrinsicID() != llvm::Intrinsic::amdgcn_update_dpp &&
        function.getIntrinsicID() != llvm::Intrinsic::amdgcn_mov_dpp)
      continue;
    for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
      auto *move = llvm::dyn_cast<llvm::CallInst>(user);
      if (!move || usersStayNarrow(*move))
        continue;
      // An empty text whose result is its operand: it costs no instruction.
      llvm::Type *type = move->getType();
      llvm::InlineAsm *same =
          llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=v,0",
                               /*hasSideEffects=*/false);
      llvm::IRBuilder<> builder(move->getNextNode());
      llvm::CallInst *hidden = builder.CreateCall(same, {move});
      move->replaceUsesWithIf(hidden, [&](llvm::Use &use) { return use.getUser() != hidden; });
    }
  }
}

} // namespace flydsl::jit
