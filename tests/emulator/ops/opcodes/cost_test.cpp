// What the rows of vector arithmetic say of its cost, against LLVM's scheduling models.
#include "machine.h"

#include "emulator/isa/encodings.h"
#include "emulator/isa/mnemonic.h"
#include "emulator/isa/op.h"
#include "emulator/ops/find_op.h"

#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

namespace flyemu::test {

namespace {
/// LLVM's latency of the results of an opcode, which tells the class that it is of.
class Latencies {
public:
  explicit Latencies(const flyemu::Machine &machine) {
    const llvm::Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    REQUIRE(target);
    instructions.reset(target->createMCInstrInfo());
    subtarget.reset(
        target->createMCSubtargetInfo(triple, machine.name(), std::string(machine.disassembler)));
  }

  unsigned of(unsigned opcode) const {
    const llvm::MCSchedClassDesc *c =
        subtarget->getSchedModel().getSchedClassDesc(instructions->get(opcode).getSchedClass());
    REQUIRE(c->isValid());
    REQUIRE_FALSE(c->isVariant());
    return static_cast<unsigned>(subtarget->getWriteLatencyEntry(c, 0)->Cycles);
  }

private:
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
};

/// The latency of a class in gfx1250's model, whose doubles and integers of 64 bits are of one class.
std::set<unsigned> expectedOnGfx1250(const OpDef &op) {
  if (op.isDouble()) // products with a constant, which have no other form, are of the common class
    return op.cost != Cost::Full         ? std::set<unsigned>{38}
           : op.literal != Literal::None ? std::set<unsigned>{7}
                                         : std::set<unsigned>{32};
  if (op.name.ends_with("_i64") || op.name.ends_with("_u64"))
    return {5, 7, 32}; // 5: a shift and a sum
  if (op.name.starts_with("v_s_"))
    return {8};
  switch (op.cost) {
  case Cost::Transcendental:
    return {7};
  case Cost::Product:
    return {11};
  case Cost::Quarter: // 6: sums of absolute differences
    return {6, 11};
  default:
    return {5, 6, 7};
  }
}

/// The latency that LLVM has for a class of the tables. CDNA's models count passes.
std::set<unsigned> expected(const flyemu::Machine &machine, const OpDef &op) {
  if (machine.encoding == Encoding::Gfx9)
    return {op.cost == Cost::Full || op.cost == Cost::Product ? 1u : 4u};
  if (machine.isGfx1250())
    return expectedOnGfx1250(op);
  if (op.isDouble())
    return {op.cost == Cost::Full ? 38u : 40u};
  switch (op.cost) {
  case Cost::Transcendental:
    return {10};
  case Cost::Product:
  case Cost::Quarter:
    return {8};
  default:
    // 64-bit integers are 6; the transcendental functions of a scalar, which have one lane, 7.
    return {5, 6, 7};
  }
}
} // namespace

TEST_CASE("costs: vector arithmetic is of the class that LLVM's scheduling models have it in") {
  for (const char *target : kTargets) {
    const flyemu::Machine &machine = *findMachine(target);
    const McTarget mc(machine.name(), machine.disassembler);
    const Latencies latencies(machine);
    std::set<unsigned> seen;
    size_t slow = 0;
    eachEncoding(machine, mc, [&](const EncodingWords &, const McInstruction &i) {
      const std::string name = baseMnemonic(mc.opcodeName(i.opcode));
      const OpDef *op = findOp(name);
      if (!op || op->cls != Class::Valu || !seen.insert(i.opcode).second)
        return;
      // Of comparisons that write EXEC the models have the latency of EXEC.
      if (op->dst == Type::Mask && i.effects & kWritesExec)
        return;
      INFO(target << ": " << mc.opcodeName(i.opcode));
      const unsigned latency = latencies.of(i.opcode);
      INFO("latency " << latency);
      CHECK(expected(machine, *op).count(latency) == 1);
      slow += op->cost != Cost::Full;
    });
    CHECK(seen.size() > 500);
    CHECK(slow > 20);
  }
}

} // namespace flyemu::test
