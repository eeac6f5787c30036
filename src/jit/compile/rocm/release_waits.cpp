// A release waits until what the wave has stored, and the cache that it writes back, is where others see it;
// only then comes the store, the atomic operation or the barrier by which they learn of it. LLVM puts such
// waits in as "soft" ones, and takes out again those for which nothing is under way. LLVM 22 takes out too
// many:
// - in a loop it decides before it has seen the end of the loop, whose accesses are under way when
//   the next turn begins (llvm/llvm-project #220357);
// - it does not know that a write-back (buffer_wbl2) is counted itself (#178316), so that what
//   other waves wrote before a barrier may arrive after the flag.
// So these waits are made hard before, and those for which nothing is under way on any path are taken out
// after LLVM has put in its own.
#include "jit/compile/rocm/rocm_codegen.h"

#include "support/enum_set.h"
#include "target/processors.h"

#include <flydsl/target.h>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace flydsl::jit {
namespace {

/// By the names of gfx12. gfx9 counts loads and stores by vmcnt, and all before gfx12 LDS and scalar memory
/// by lgkmcnt.
enum class Counter : std::uint8_t { loads, stores, lds, scalar };
using Counters = support::EnumSet<Counter, std::uint8_t>;
constexpr Counters kCounters = {Counter::loads, Counter::stores, Counter::lds, Counter::scalar};

/// A wait of a pass of this file's, and no wait of a kernel's.
constexpr llvm::MachineInstr::MIFlag kMadeHard = llvm::MachineInstr::NoMerge;

llvm::StringRef nameOf(const llvm::MachineInstr &instruction) {
  return instruction.getMF()->getSubtarget().getInstrInfo()->getName(instruction.getOpcode());
}

/// The opcode of a name. Nothing of LLVM's is called under the lock, which would stay taken if it gave up.
unsigned opcodeOf(const llvm::TargetInstrInfo &instructions, llvm::StringRef name) {
  static std::mutex mutex;
  static std::map<std::string, unsigned, std::less<>> &known =
      *new std::map<std::string, unsigned, std::less<>>;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(std::string_view(name)); found != known.end())
      return found->second;
  }
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    if (instructions.getName(opcode) == name) {
      const std::string own = name.str();
      const std::lock_guard lock(mutex);
      return known[own] = opcode;
    }
  llvm::report_fatal_error(llvm::Twine("LLVM has no instruction ") + name);
}

constexpr llvm::StringRef kSoft = "_soft";

class KeepReleaseWaits final : public llvm::MachineFunctionPass {
public:
  static char id;
  KeepReleaseWaits() : MachineFunctionPass(id) {}
  llvm::StringRef getPassName() const override { return "Hard waits of releases"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG(); // waits change no block
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    bool changed = false;
    for (auto part = llvm::scc_begin(&function); !part.isAtEnd(); ++part)
      for (llvm::MachineBasicBlock *block : *part) {
        bool writesBack = false;
        for (llvm::MachineInstr &instruction : *block) {
          const llvm::StringRef name = nameOf(instruction);
          if (name.ends_with(kSoft) && (writesBack || part.hasCycle())) {
            const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
            instruction.setDesc(
                instructions.get(opcodeOf(instructions, name.drop_back(kSoft.size()))));
            instruction.setFlag(kMadeHard);
            changed = true;
          } else if (!instruction.isDebugInstr()) {
            writesBack = name == "BUFFER_WBL2";
          }
        }
      }
    return changed;
  }
};
char KeepReleaseWaits::id = 0;

/// What a wait waits for: of each counter how many operations may be left, or nothing.
using Left = std::array<std::optional<unsigned>, kCounters.size()>;

class DropIdleWaits final : public llvm::MachineFunctionPass {
public:
  static char id;
  explicit DropIdleWaits(Family family) : MachineFunctionPass(id), family_(family) {}
  llvm::StringRef getPassName() const override { return "Waits for nothing"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG(); // waits change no block
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    bool isAny = false;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block)
        isAny |= instruction.getFlag(kMadeHard);
    if (!isAny)
      return false;
    // What may be under way at the end of each block.
    llvm::DenseMap<const llvm::MachineBasicBlock *, Counters> ends;
    const auto begin = [&](const llvm::MachineBasicBlock &block) {
      const bool isCalled =
          function.getFunction().getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL;
      Counters pending = &block == &function.front() && isCalled ? kCounters : Counters();
      for (const llvm::MachineBasicBlock *from : block.predecessors())
        pending.add(ends[from]);
      return pending;
    };
    const llvm::ReversePostOrderTraversal<llvm::MachineFunction *> order(&function);
    for (bool changed = true; changed;) {
      changed = false;
      for (const llvm::MachineBasicBlock *block : order) {
        Counters pending = begin(*block);
        for (const llvm::MachineInstr &instruction : *block)
          pending = after(instruction, pending);
        if (!(pending == ends[block])) {
          ends[block] = pending;
          changed = true;
        }
      }
    }
    bool changed = false;
    for (llvm::MachineBasicBlock *block : order) {
      Counters pending = begin(*block);
      for (llvm::MachineInstr &instruction : llvm::make_early_inc_range(*block)) {
        const std::optional<Left> left = leftBy(instruction);
        if (left && isOwn(instruction) && waitsForNothing(*left, pending)) {
          instruction.eraseFromParent();
          changed = true;
        } else {
          pending = after(instruction, pending);
        }
      }
    }
    return changed;
  }

private:
  bool isGfx9() const { return detail::isCdna(family_); }
  std::optional<Left> leftBy(const llvm::MachineInstr &instruction) const;
  Counters after(const llvm::MachineInstr &instruction, Counters pending) const;
  /// Whether it is no wait of the kernel's. LLVM makes one wait of two for different counters.
  static bool isOwn(const llvm::MachineInstr &instruction) {
    return instruction.getFlag(kMadeHard) || nameOf(instruction).ends_with("CNT_DSCNT");
  }
  static bool waitsForNothing(const Left &left, Counters pending) {
    for (Counter counter : kCounters)
      if (left[std::size_t(counter)] && pending.has(counter))
        return false;
    return true;
  }

  const Family family_;
};
char DropIdleWaits::id = 0;

/// None if the instruction is no wait, or one of another counter.
std::optional<Left> DropIdleWaits::leftBy(const llvm::MachineInstr &instruction) const {
  const llvm::StringRef name = nameOf(instruction);
  if (!name.starts_with("S_WAIT") || !instruction.getNumExplicitOperands())
    return std::nullopt;
  Left left;
  const auto set = [&](Counter counter, std::uint64_t number, unsigned most) {
    if (number != most)
      left[std::size_t(counter)] = static_cast<unsigned>(number);
  };
  const llvm::MachineOperand &last =
      instruction.getOperand(instruction.getNumExplicitOperands() - 1);
  if (!last.isImm())
    return std::nullopt;
  const auto value = static_cast<std::uint64_t>(last.getImm());
  // The fields of s_waitcnt and the numbers of waits for two counters are told in the ISA manuals
  // (SOPP) and by LLVM's AMDGPUBaseInfo.
  if (name == "S_WAITCNT") {
    const std::uint64_t vector = isGfx9() ? (value & 15) | (value >> 10 & 0x30) : value >> 10 & 63,
                        other = isGfx9() ? value >> 8 & 15 : value >> 4 & 63;
    set(Counter::loads, vector, 63);
    if (isGfx9())
      set(Counter::stores, vector, 63);
    for (Counter counter : {Counter::lds, Counter::scalar})
      set(counter, other, isGfx9() ? 15 : 63);
  } else if (name == "S_WAITCNT_VSCNT" || name == "S_WAIT_STORECNT") {
    set(Counter::stores, value, 63);
  } else if (name == "S_WAIT_LOADCNT") {
    set(Counter::loads, value, 63);
  } else if (name == "S_WAIT_DSCNT") {
    set(Counter::lds, value, 63);
  } else if (name == "S_WAIT_KMCNT") {
    set(Counter::scalar, value, 63);
  } else if (name == "S_WAIT_LOADCNT_DSCNT" || name == "S_WAIT_STORECNT_DSCNT") {
    set(name == "S_WAIT_LOADCNT_DSCNT" ? Counter::loads : Counter::stores, value >> 8 & 63, 63);
    set(Counter::lds, value & 63, 63);
  } else if (name == "S_WAIT_SAMPLECNT" || name == "S_WAIT_BVHCNT") {
    return left; // of images, which kernels do not have
  } else {
    return std::nullopt;
  }
  return left;
}

/// What may be under way after an instruction. What is not known to be counted elsewhere counts everywhere.
Counters DropIdleWaits::after(const llvm::MachineInstr &instruction, Counters pending) const {
  if (const std::optional<Left> left = leftBy(instruction)) {
    for (Counter counter : kCounters)
      if ((*left)[std::size_t(counter)] == 0u)
        pending.remove(counter);
    return pending;
  }
  const llvm::StringRef name = nameOf(instruction);
  const bool
      isLds = name.starts_with("DS_"),
      // Clocks, answers to messages and states of barriers are counted, too, though LLVM does not call
      // them loads.
      isScalar = name.starts_with("S_LOAD") || name.starts_with("S_BUFFER_LOAD") ||
                 name.starts_with("S_MEM") || name.starts_with("S_SENDMSG") ||
                 name.starts_with("S_GET_BARRIER_STATE"),
      isVector = name.starts_with("GLOBAL_") || name.starts_with("BUFFER_") ||
                 name.starts_with("TBUFFER_") || name.starts_with("SCRATCH_");
  if (isLds || isScalar) {
    pending.add(isLds ? Counter::lds : Counter::scalar);
  } else if (isVector && (name.contains("_INV") || name.contains("WBINVL1"))) {
    // Caches that forget: gfx12 counts it with loads, older targets nowhere (LLVM's
    // SIInsertWaitcnts, getMUBUFIsBufferInv).
    if (name.starts_with("GLOBAL_"))
      pending.add(Counter::loads);
  } else if (isVector) {
    if (instruction.mayLoad())
      pending.add(Counter::loads);
    if (instruction.mayStore() || !instruction.mayLoad()) // neither: a cache that writes back
      pending.add(Counter::stores);
  } else if (instruction.mayLoadOrStore() || instruction.isCall() || instruction.isInlineAsm()) {
    pending = kCounters;
  }
  return pending;
}

const void *passCalled(llvm::StringRef name) {
  const llvm::PassInfo *pass = llvm::PassRegistry::getPassRegistry()->getPassInfo(name);
  if (!pass)
    llvm::report_fatal_error(llvm::Twine("LLVM has no pass ") + name);
  return pass->getTypeInfo();
}

} // namespace

void keepReleaseWaits(llvm::TargetPassConfig &passes, const Target &target) {
  passes.insertPass(passCalled("si-memory-legalizer"), new KeepReleaseWaits);
  // The fields of other processors' waits are not known here. All of theirs stay.
  if (target.family() != Family::other)
    passes.insertPass(passCalled("si-insert-waitcnts"), new DropIdleWaits(target.family()));
}

} // namespace flydsl::jit
