// A region with barriers of groups gets none of the target's steps over the graph but LLVM's step
// for groups, by which the target's schedulers replace their list (GCNSchedStrategy.cpp). They look
// at the opcodes of a region for that. So the barriers have another opcode, of the same properties,
// until the list's first step runs for their region.
#include "jit/compile/rocm/schedule/group_mutations.h"

#include "jit/compile/rocm/schedule/group_order.h"
#include "jit/compile/rocm/schedule/instruction_kinds.h"

#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/ScheduleDAGMutation.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <map>
#include <memory>

#ifndef NDEBUG
#error "the layout of LLVM's schedulers depends on NDEBUG, with which LLVM's packages are built"
#endif

namespace flydsl::jit {

namespace {

using llvm::SUnit;

/// The places of a barrier's operands.
enum BarrierOperand : unsigned { kMask, kSize, kPipeline };

std::int64_t operandOf(const SUnit &barrier, BarrierOperand operand) {
  return barrier.getInstr()->getOperand(operand).getImm();
}

void setOpcode(llvm::MachineInstr &instruction, unsigned opcode) {
  instruction.setDesc(instruction.getMF()->getSubtarget().getInstrInfo()->get(opcode));
}

using Barriers = std::vector<SUnit *>;

/// The region that is scheduled now.
struct Region {
  Barriers barriers; ///< in their order
  bool takesSteps;   ///< whether the target's own steps run
};

/// The first step: finds the region's barriers and gives them their opcode back.
class FindGroups final : public llvm::ScheduleDAGMutation {
public:
  FindGroups(std::shared_ptr<Region> region, bool forGood)
      : region_(std::move(region)), forGood_(forGood) {}

  void apply(llvm::ScheduleDAGInstrs *graph) override {
    const SpecialOpcodes &special = specialOpcodes(*graph->TII);
    region_->barriers.clear();
    for (SUnit &node : graph->SUnits) {
      llvm::MachineInstr &instruction = *node.getInstr();
      if (instruction.getOpcode() == special.barrier)
        setOpcode(instruction, special.groupBarrier);
      if (instruction.getOpcode() == special.groupBarrier)
        region_->barriers.push_back(&node);
    }
    region_->takesSteps = region_->barriers.empty() && (region_->takesSteps || !forGood_);
  }

private:
  std::shared_ptr<Region> region_;
  bool forGood_;
};

/// One of the target's steps, for regions without groups.
class UnlessGroups final : public llvm::ScheduleDAGMutation {
public:
  UnlessGroups(std::shared_ptr<Region> region, std::unique_ptr<ScheduleDAGMutation> step)
      : region_(std::move(region)), step_(std::move(step)) {}

  void apply(llvm::ScheduleDAGInstrs *graph) override {
    if (region_->takesSteps)
      step_->apply(graph);
  }

private:
  std::shared_ptr<Region> region_;
  std::unique_ptr<ScheduleDAGMutation> step_;
};

/// The last step: adds the edges that groups ask for.
class OrderGroups final : public llvm::ScheduleDAGMutation {
public:
  explicit OrderGroups(std::shared_ptr<Region> region) : region_(std::move(region)) {}

  void apply(llvm::ScheduleDAGInstrs *graph) override {
    if (region_->barriers.empty())
      return;
    for (SUnit *barrier : region_->barriers)
      removeEdges(*barrier);
    for (const auto &[from, to] : edgesOfGroups(reachabilityOf(*graph), pipelinesOf(*graph)))
      graph->addEdge(&graph->SUnits[to], llvm::SDep(&graph->SUnits[from], llvm::SDep::Artificial));
  }

private:
  /// A barrier is said to have side effects, so that it stands between all that access memory.
  static void removeEdges(SUnit &node) {
    while (!node.Preds.empty())
      node.removePred(node.Preds.back());
    while (!node.Succs.empty()) {
      llvm::SDep edge = node.Succs.back();
      SUnit &after = *edge.getSUnit();
      edge.setSUnit(&node);
      after.removePred(edge);
    }
  }

  static Reachability reachabilityOf(const llvm::ScheduleDAGInstrs &graph) {
    const unsigned count = static_cast<unsigned>(graph.SUnits.size());
    Reachability result(count);
    // Most edges go from a lower number to a higher one. From the last node to the first, what an
    // edge's end reaches is known when it is added, and nothing reaches its start yet.
    for (unsigned from = count; from-- > 0;)
      for (const llvm::SDep &edge : graph.SUnits[from].Succs)
        if (const unsigned to = edge.getSUnit()->NodeNum; to < count)
          result.add(from, to);
    return result;
  }

  /// The pipelines by their numbers, and for each instruction the groups that may take it: those
  /// whose barriers stand below it.
  std::vector<GroupPipeline> pipelinesOf(const llvm::ScheduleDAGInstrs &graph) const {
    std::map<std::int64_t, Barriers> byNumber;
    for (SUnit *barrier : region_->barriers)
      byNumber[operandOf(*barrier, kPipeline)].push_back(barrier);
    std::vector<GroupPipeline> result;
    for (const auto &[number, barriers] : byNumber) {
      GroupPipeline &pipeline = result.emplace_back();
      for (const SUnit *barrier : barriers)
        pipeline.groups.push_back(
            {barrier->NodeNum, static_cast<unsigned>(operandOf(*barrier, kSize))});
      for (const SUnit &node : graph.SUnits) {
        GroupCandidate candidate{node.NodeNum, {}};
        std::map<std::int64_t, bool> taken; // by mask
        for (unsigned group = 0; group < barriers.size(); ++group) {
          if (barriers[group]->NodeNum < node.NodeNum || pipeline.groups[group].size == 0)
            continue;
          const std::int64_t mask = operandOf(*barriers[group], kMask);
          const auto [at, isNew] = taken.try_emplace(mask);
          if (isNew)
            at->second = groupTakes(mask, *node.getInstr());
          if (at->second)
            candidate.groups.push_back(group);
        }
        if (!candidate.groups.empty())
          pipeline.candidates.push_back(std::move(candidate));
      }
    }
    return result;
  }

  std::shared_ptr<Region> region_;
};

/// The list of steps, which LLVM lets a scheduler of its own see alone.
struct OpenScheduler : llvm::ScheduleDAGMI {
  static auto &stepsOf(llvm::ScheduleDAGMI &scheduler) {
    return scheduler.*(&OpenScheduler::Mutations);
  }
};

/// The function's barriers of groups, or none where LLVM's own step is needed.
llvm::SmallVector<llvm::MachineInstr *> barriersOf(llvm::MachineFunction &function) {
  const SpecialOpcodes &special = specialOpcodes(*function.getSubtarget().getInstrInfo());
  llvm::SmallVector<llvm::MachineInstr *> barriers;
  for (llvm::MachineBasicBlock &block : function)
    for (llvm::MachineInstr &instruction : block) {
      const unsigned opcode = instruction.getOpcode();
      if (opcode == special.groupBarrier) {
        const std::int64_t mask = instruction.getOperand(kMask).getImm();
        if (mask == 0 || mask & ~group_mask::kAll)
          return {};
        barriers.push_back(&instruction);
      } else if (instruction.isInlineAsm() || opcode == special.iglpOpt ||
                 (opcode == special.barrier && instruction.getOperand(kMask).getImm() != 0)) {
        return {};
      }
    }
  return barriers;
}

} // namespace

QuickGroups::QuickGroups(llvm::MachineFunction &function, llvm::ScheduleDAGMI &scheduler,
                         bool forGood)
    : barriers_(barriersOf(function)) {
  if (barriers_.empty())
    return;
  // A barrier of all whose mask is not 0 is no boundary of a region either.
  const unsigned opcode = specialOpcodes(*function.getSubtarget().getInstrInfo()).barrier;
  for (llvm::MachineInstr *barrier : barriers_)
    setOpcode(*barrier, opcode);
  auto region = std::make_shared<Region>(Region{{}, true});
  auto &steps = OpenScheduler::stepsOf(scheduler);
  for (std::unique_ptr<llvm::ScheduleDAGMutation> &step : steps)
    step = std::make_unique<UnlessGroups>(region, std::move(step));
  steps.insert(steps.begin(), std::make_unique<FindGroups>(region, forGood));
  scheduler.addMutation(std::make_unique<OrderGroups>(region));
}

QuickGroups::~QuickGroups() {
  for (llvm::MachineInstr *barrier : barriers_)
    setOpcode(*barrier,
              specialOpcodes(*barrier->getMF()->getSubtarget().getInstrInfo()).groupBarrier);
}

} // namespace flydsl::jit
