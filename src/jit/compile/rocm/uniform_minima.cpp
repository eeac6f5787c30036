// gfx1250 has vector instructions for minima and maxima of 64 bits (v_min_i64), and no scalar ones. LLVM
// 22 selects them for all minima, also of numbers that a wave's lanes have in common, and then takes
// what follows from the result for a value that differs between lanes. A buffer whose size is
// such a minimum has its descriptor in vector registers, and each access to it becomes a loop over the
// descriptors that the lanes have. So such a result is read from one lane.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#include <vector>

namespace flydsl::jit {

static std::vector<llvm::MinMaxIntrinsic *> wideMinima(llvm::Function &function) {
  std::vector<llvm::MinMaxIntrinsic *> minima;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *minimum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction))
      if (minimum->getType()->isIntegerTy(64))
        minima.push_back(minimum);
  return minima;
}

void keepMinimaUniform(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    const std::vector<llvm::MinMaxIntrinsic *> minima = wideMinima(function);
    // One of the four stands for all: a processor has all of these instructions or none.
    if (minima.empty() ||
        !machine.getSubtargetImpl(function)->getTargetLowering()->isOperationLegal(llvm::ISD::SMIN,
                                                                                   llvm::MVT::i64))
      continue;
    llvm::FunctionAnalysisManager analyses;
    analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    analyses.registerPass([] { return llvm::CycleAnalysis(); });
    analyses.registerPass([&] { return machine.getTargetIRAnalysis(); });
    const llvm::UniformityInfo uniformity = llvm::UniformityInfoAnalysis().run(function, analyses);
    std::vector<llvm::MinMaxIntrinsic *> uniform;
    for (llvm::MinMaxIntrinsic *minimum : minima)
      if (uniformity.isUniform(minimum))
        uniform.push_back(minimum);
    for (llvm::MinMaxIntrinsic *minimum : uniform) {
      llvm::IRBuilder<> builder(minimum->getNextNode());
      llvm::Value *read = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane,
                                                  {minimum->getType()}, {minimum});
      minimum->replaceUsesWithIf(read, [&](llvm::Use &use) { return use.getUser() != read; });
    }
  }
}

} // namespace flydsl::jit
