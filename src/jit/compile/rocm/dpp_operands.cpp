// LLVM 22 folds a move between lanes (DPP) into the instruction that uses its result. On RDNA it
// does so even if that instruction has a 64-bit operand, such as v_mad_u64_u32, which has no form
// with DPP there: the object then holds bytes that are no instruction (LLVM's pull requests 217894
// and 222216 correct it in a later version). So results that may end in such an instruction are
// hidden from the fold.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

// What is selected as instructions without a 64-bit operand when its values have 32 bits.
static constexpr unsigned kNarrow[] = {
    llvm::Instruction::Add,  llvm::Instruction::Sub,   llvm::Instruction::And,
    llvm::Instruction::Or,   llvm::Instruction::Xor,   llvm::Instruction::FAdd,
    llvm::Instruction::FSub, llvm::Instruction::FMul,  llvm::Instruction::ICmp,
    llvm::Instruction::FCmp, llvm::Instruction::Select};
static constexpr llvm::Intrinsic::ID kNarrowIntrinsics[] = {llvm::Intrinsic::smin,
                                                            llvm::Intrinsic::smax,
                                                            llvm::Intrinsic::umin,
                                                            llvm::Intrinsic::umax,
                                                            llvm::Intrinsic::minnum,
                                                            llvm::Intrinsic::maxnum,
                                                            llvm::Intrinsic::minimum,
                                                            llvm::Intrinsic::maximum,
                                                            llvm::Intrinsic::minimumnum,
                                                            llvm::Intrinsic::maximumnum,
                                                            llvm::Intrinsic::amdgcn_readlane,
                                                            llvm::Intrinsic::amdgcn_readfirstlane};

/// True if no user of a 32-bit value is selected as an instruction with a 64-bit operand.
static bool usersStayNarrow(const llvm::Value &value) {
  return llvm::all_of(value.users(), [](const llvm::User *user) {
    const auto *instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (!instruction)
      return false;
    if (llvm::isa<llvm::BitCastInst, llvm::TruncInst>(instruction))
      return usersStayNarrow(*instruction);
    if (const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction))
      return llvm::is_contained(kNarrowIntrinsics, intrinsic->getIntrinsicID());
    return llvm::is_contained(kNarrow, instruction->getOpcode());
  });
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
