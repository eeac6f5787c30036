// The schedulers themselves are LLVM's and the target's. A pass only walks the
// regions of a function (MachineScheduler.cpp has LLVM's walk, whose pass lets
// nobody at the scheduler that it makes).
#include "jit/compile/rocm/schedule/schedulers.h"

#include "jit/compile/rocm/schedule/group_mutations.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>
#include <memory>

namespace flydsl::jit {

namespace {

using Block = llvm::MachineBasicBlock;

/// Whether nothing is moved past the instruction.
bool isBoundary(const llvm::MachineInstr &instruction, const Block &block) {
  const llvm::MachineFunction &function = *block.getParent();
  return instruction.isCall() || instruction.isFakeUse() ||
         function.getSubtarget().getInstrInfo()->isSchedulingBoundary(instruction, &block,
                                                                      function);
}

/// The regions of a block between boundaries, last to first. A boundary ends the region above it.
std::vector<llvm::SchedRegion> regionsOf(Block &block) {
  std::vector<llvm::SchedRegion> regions;
  Block::iterator end = block.end();
  while (end != block.begin()) {
    if (end != block.end() || isBoundary(*std::prev(end), block))
      --end;
    Block::iterator begin = end;
    unsigned count = 0;
    for (; begin != block.begin() && !isBoundary(*std::prev(begin), block); --begin)
      count += !std::prev(begin)->isDebugOrPseudoInstr();
    if (count)
      regions.emplace_back(begin, end, count);
    end = begin;
  }
  return regions;
}

void schedule(llvm::MachineFunction &function, llvm::ScheduleDAGInstrs &scheduler,
              bool isAllocated) {
  for (Block &block : function) {
    scheduler.startBlock(&block);
    std::vector<llvm::SchedRegion> regions = regionsOf(block);
    if (scheduler.doMBBSchedRegionsTopDown())
      std::reverse(regions.begin(), regions.end());
    for (const llvm::SchedRegion &region : regions) {
      scheduler.enterRegion(&block, region.RegionBegin, region.RegionEnd, region.NumRegionInstrs);
      const bool isSingle = region.RegionBegin == std::prev(region.RegionEnd);
      if (!isSingle || scheduler.shouldScheduleSingleMIRegions())
        scheduler.schedule();
      scheduler.exitRegion();
    }
    scheduler.finishBlock();
    if (isAllocated)
      scheduler.fixupKills(block);
  }
  scheduler.finalizeSchedule();
}

/// The target's schedulers are all llvm::ScheduleDAGMI.
void run(llvm::MachineFunction &function, llvm::ScheduleDAGInstrs *made, bool isAllocated) {
  const std::unique_ptr<llvm::ScheduleDAGInstrs> scheduler(made);
  const QuickGroups groups(function, static_cast<llvm::ScheduleDAGMI &>(*scheduler),
                           /*forGood=*/isAllocated);
  schedule(function, *scheduler, isAllocated);
}

/// What both passes need.
class SchedulerPass : public llvm::MachineFunctionPass {
public:
  using MachineFunctionPass::MachineFunctionPass;

  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    usage.addRequired<llvm::MachineDominatorTreeWrapperPass>();
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.addRequired<llvm::AAResultsWrapperPass>();
    usage.addRequired<llvm::TargetPassConfig>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

protected:
  void fill(llvm::MachineSchedContext &context, llvm::MachineFunction &function) {
    context.MF = &function;
    context.MLI = &getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    context.TM = &getAnalysis<llvm::TargetPassConfig>().getTM<llvm::TargetMachine>();
    context.AA = &getAnalysis<llvm::AAResultsWrapperPass>().getAAResults();
  }
};

/// In the place of the scheduler before registers are allocated, under its id: passes are inserted
/// behind that.
class BeforeAllocation final : public SchedulerPass {
public:
  BeforeAllocation() : SchedulerPass(llvm::MachineSchedulerID) {}
  llvm::StringRef getPassName() const override { return "Machine Instruction Scheduler"; }

  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.addRequired<llvm::SlotIndexesWrapperPass>();
    usage.addPreserved<llvm::SlotIndexesWrapperPass>();
    usage.addRequired<llvm::LiveIntervalsWrapperPass>();
    usage.addPreserved<llvm::LiveIntervalsWrapperPass>();
    SchedulerPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    if (skipFunction(function.getFunction()) || !function.getSubtarget().enableMachineScheduler())
      return false;
    llvm::MachineSchedContext context;
    fill(context, function);
    context.MDT = &getAnalysis<llvm::MachineDominatorTreeWrapperPass>().getDomTree();
    context.LIS = &getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    context.RegClassInfo->runOnMachineFunction(function);
    run(function, context.TM->createMachineScheduler(&context), /*isAllocated=*/false);
    return true;
  }
};

/// In the place of the scheduler after registers are allocated.
class AfterAllocation final : public SchedulerPass {
public:
  AfterAllocation() : SchedulerPass(llvm::PostMachineSchedulerID) {}
  llvm::StringRef getPassName() const override { return "PostRA Machine Instruction Scheduler"; }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    if (skipFunction(function.getFunction()) ||
        !function.getSubtarget().enablePostRAMachineScheduler())
      return false;
    llvm::MachineSchedContext context;
    fill(context, function);
    run(function, context.TM->createPostMachineScheduler(&context), /*isAllocated=*/true);
    return true;
  }
};

} // namespace

void useQuickGroupSchedulers(llvm::TargetPassConfig &passes) {
  if (passes.getOptLevel() == llvm::CodeGenOptLevel::None)
    return; // nothing is scheduled
  passes.substitutePass(&llvm::MachineSchedulerID, new BeforeAllocation);
  // AMD's pipeline has this one in the place of the older scheduler of that name.
  passes.substitutePass(&llvm::PostRASchedulerID, new AfterAllocation);
}

} // namespace flydsl::jit
