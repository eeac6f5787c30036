// Disassembly with LLVM's own tables, symbol by symbol.
#include "jit/compile/disassemble.h"

#include "jit/compile/backends/backends.h"

#include <flydsl/error.h>

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
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

namespace flydsl::jit {

namespace {

class CodePrinter {
public:
  CodePrinter(const Target &target, const LlvmProcessor &processor) : triple_(processor.triple) {
    std::string error;
    const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple_, error);
    if (!llvmTarget)
      throw CompileError("this LLVM has no target " + processor.triple + ": " + error);
    registers_.reset(llvmTarget->createMCRegInfo(triple_));
    assembly_.reset(llvmTarget->createMCAsmInfo(*registers_, triple_, options_));
    subtarget_.reset(
        llvmTarget->createMCSubtargetInfo(triple_, processor.name, processor.features));
    instructions_.reset(llvmTarget->createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(triple_, assembly_.get(), registers_.get(),
                                                 subtarget_.get());
    decoder_.reset(llvmTarget->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(llvmTarget->createMCInstPrinter(triple_, assembly_->getAssemblerDialect(),
                                                   *assembly_, *instructions_, *registers_));
    if (!decoder_ || !printer_)
      throw CompileError("LLVM can't disassemble for " + target.id());
  }

  void print(llvm::ArrayRef<std::uint8_t> code, std::uint64_t address, llvm::raw_ostream &out) {
    for (std::uint64_t at = 0; at < code.size();) {
      llvm::MCInst instruction;
      std::uint64_t size = 0;
      auto status =
          decoder_->getInstruction(instruction, size, code.slice(at), address + at, llvm::nulls());
      if (status == llvm::MCDisassembler::Fail || size == 0) {
        size = std::min<std::uint64_t>(4, code.size() - at);
        out << "\t.byte";
        for (std::uint64_t i = 0; i < size; ++i)
          out << (i ? ", " : " ") << llvm::format_hex(code[at + i], 4);
      } else {
        printer_->printInst(&instruction, address + at, "", *subtarget_, out);
      }
      out << "\t// " << llvm::format_hex_no_prefix(address + at, 12) << '\n';
      at += size;
    }
  }

private:
  llvm::Triple triple_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

template <class T> T take(llvm::Expected<T> value) {
  if (!value)
    throw CompileError("disassembling: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

} // namespace

std::string disassemble(const CodeObject &object) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(object.bytes.data()), object.bytes.size());
  auto file = take(
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "code object")));
  const Target target = Target::parse(object.target);
  CodePrinter disassembler(target, backendFor(target).processor(target));
  std::string text;
  llvm::raw_string_ostream out(text);
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file.get());
  for (const llvm::object::ELFSymbolRef &symbol : elf->getDynamicSymbolIterators()) {
    if (take(symbol.getType()) != llvm::object::SymbolRef::ST_Function)
      continue;
    auto section = take(symbol.getSection());
    if (section == file->section_end())
      continue;
    llvm::StringRef contents = take(section->getContents());
    std::uint64_t address = take(symbol.getAddress()), start = address - section->getAddress();
    if (address < section->getAddress() || start > contents.size() ||
        symbol.getSize() > contents.size() - start)
      throw CompileError("disassembling: a symbol reaches out of its section");
    out << take(symbol.getName()) << ":\n";
    disassembler.print(llvm::arrayRefFromStringRef(contents.substr(start, symbol.getSize())),
                       address, out);
  }
  return text;
}

} // namespace flydsl::jit
