#include "emulator/isa/mc.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>
#include <stdexcept>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace flyemu {

struct McTarget::Impl {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

McTarget::McTarget(std::string_view cpu, std::string_view features)
    : impl(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string error;
  Impl &i = *impl;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(i.triple, error);
  if (!target)
    throw std::invalid_argument(error);
  i.registers.reset(target->createMCRegInfo(i.triple));
  i.asmInfo.reset(target->createMCAsmInfo(*i.registers, i.triple, i.options));
  i.instructions.reset(target->createMCInstrInfo());
  i.subtarget.reset(target->createMCSubtargetInfo(i.triple, "", ""));
  if (!i.subtarget->isCPUStringValid(llvm::StringRef(cpu.data(), cpu.size())))
    throw std::invalid_argument("unknown target '" + std::string(cpu) + "'");
  i.subtarget.reset(
      target->createMCSubtargetInfo(i.triple, llvm::StringRef(cpu.data(), cpu.size()),
                                    llvm::StringRef(features.data(), features.size())));
  i.context = std::make_unique<llvm::MCContext>(i.triple, i.asmInfo.get(), i.registers.get(),
                                                i.subtarget.get());
  i.disassembler.reset(target->createMCDisassembler(*i.subtarget, *i.context));
  i.printer.reset(
      target->createMCInstPrinter(i.triple, 0, *i.asmInfo, *i.instructions, *i.registers));
}

McTarget::~McTarget() = default;

McInstruction McTarget::decode(const void *code, size_t bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  llvm::ArrayRef<uint8_t> data(static_cast<const uint8_t *>(code), bytes);
  auto status = impl->disassembler->getInstruction(inst, size, data, address, llvm::nulls());
  if (status != llvm::MCDisassembler::Success)
    return {};
  return {inst.getOpcode(), static_cast<unsigned>(size)};
}

std::string McTarget::print(const void *code, size_t bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  llvm::ArrayRef<uint8_t> data(static_cast<const uint8_t *>(code), bytes);
  auto status = impl->disassembler->getInstruction(inst, size, data, address, llvm::nulls());
  if (status == llvm::MCDisassembler::Fail)
    return {};
  std::string text;
  llvm::raw_string_ostream out(text);
  impl->printer->printInst(&inst, address, "", *impl->subtarget, out);
  size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin);
}

unsigned McTarget::numOpcodes() const { return impl->instructions->getNumOpcodes(); }

std::string_view McTarget::opcodeName(unsigned opcode) const {
  llvm::StringRef name = impl->instructions->getName(opcode);
  return {name.data(), name.size()};
}

} // namespace flyemu
