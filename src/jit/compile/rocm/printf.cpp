// printf of the device. MLIR makes it a call of `printf`; LLVM makes of that a record in the
// launch's printf buffer, and notes the format in the code object's metadata. It is the form that
// HIP's runtime knows as buffered: the host prints what is there when the kernel has ended, and
// the kernel waits for nobody.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/AMDGPUEmitPrintf.h"

namespace flydsl::jit {

/// Where the buffer's address is in the hidden arguments of code object version 5 (LLVM's
/// AMDGPUUsage).
static constexpr unsigned kBufferArgument = 72;

/// Takes room for a record out of the buffer; the result is null if none is left. The buffer begins
/// with two words: the number of bytes in use, which is counted up, and the number of bytes behind
/// these two words.
static void defineAlloc(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, &function); };
  llvm::BasicBlock *entry = block("entry"), *start = block("start"), *attempt = block("attempt"),
                   *take = block("take"), *done = block("done"), *full = block("full");
  llvm::IRBuilder<> b(entry);
  llvm::Type *i32 = b.getInt32Ty(), *global = b.getPtrTy(1);
  llvm::Value *bytes = function.getArg(0);
  llvm::Value *arguments =
      b.CreateIntrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr, llvm::ArrayRef<llvm::Type *>(),
                        llvm::ArrayRef<llvm::Value *>());
  llvm::Value *buffer =
      b.CreateLoad(global, b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), arguments, kBufferArgument));
  b.CreateCondBr(b.CreateIsNull(buffer), full, start);

  b.SetInsertPoint(start);
  llvm::Value *size = b.CreateLoad(i32, b.CreateConstInBoundsGEP1_32(i32, buffer, 1));
  llvm::Value *first = b.CreateLoad(i32, buffer, /*isVolatile=*/true);
  b.CreateBr(attempt);

  b.SetInsertPoint(attempt);
  llvm::PHINode *used = b.CreatePHI(i32, 2);
  llvm::Value *next = b.CreateAdd(used, bytes);
  b.CreateCondBr(b.CreateICmpUGT(next, size), full, take);

  b.SetInsertPoint(take);
  auto *exchange = b.CreateAtomicCmpXchg(
      buffer, used, next, llvm::Align(4), llvm::AtomicOrdering::Monotonic,
      llvm::AtomicOrdering::Monotonic, context.getOrInsertSyncScopeID("agent"));
  llvm::Value *seen = b.CreateExtractValue(exchange, 0);
  b.CreateCondBr(b.CreateExtractValue(exchange, 1), done, attempt);
  used->addIncoming(first, start);
  used->addIncoming(seen, take);

  b.SetInsertPoint(done);
  llvm::Value *records = b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), buffer, 8);
  llvm::Value *place =
      b.CreateInBoundsGEP(b.getInt8Ty(), records, b.CreateZExt(used, b.getInt64Ty()));
  b.CreateRet(b.CreatePointerBitCastOrAddrSpaceCast(place, function.getReturnType()));

  b.SetInsertPoint(full);
  b.CreateRet(
      llvm::ConstantPointerNull::get(llvm::cast<llvm::PointerType>(function.getReturnType())));
}

void lowerPrintf(llvm::Module &module) {
  llvm::Function *printf = module.getFunction("printf");
  if (!printf || !printf->isDeclaration())
    return;
  for (llvm::User *user : llvm::make_early_inc_range(printf->users())) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != printf)
      continue;
    // LLVM's function writes at the end of a block that has no terminator yet, and goes on in
    // others.
    llvm::BasicBlock *before = call->getParent();
    llvm::BasicBlock *after = before->splitBasicBlock(call);
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(call->getDebugLoc());
    llvm::SmallVector<llvm::Value *, 8> arguments(call->args());
    llvm::Value *result = llvm::emitAMDGPUPrintfCall(builder, arguments, /*isBuffered=*/true);
    builder.CreateBr(after);
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }
  if (printf->use_empty())
    printf->eraseFromParent();
  if (llvm::Function *alloc = module.getFunction("__printf_alloc"); alloc && alloc->isDeclaration())
    defineAlloc(*alloc);
}

} // namespace flydsl::jit
