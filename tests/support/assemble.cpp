#include "assemble.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <cstring>
#include <stdexcept>
#include <string>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace flyemu::test {

namespace {
struct Diagnostics {
  std::string text;
  std::vector<int> lines; ///< of errors, from 1
};

/// The .text section; empty, with diagnostics, if the text is refused.
std::vector<uint32_t> textSection(std::string_view cpu, std::string_view features,
                                  std::string_view text, Diagnostics &diagnostics) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw std::runtime_error(error);
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> info(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, llvm::StringRef(cpu.data(), cpu.size()),
                                    llvm::StringRef(features.data(), features.size())));
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &d, void *to) {
        auto *all = static_cast<Diagnostics *>(to);
        all->text += d.getMessage().str() + "\n";
        if (d.getKind() == llvm::SourceMgr::DK_Error)
          all->lines.push_back(d.getLineNo());
      },
      &diagnostics);
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size())),
      llvm::SMLoc());
  llvm::MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> objectInfo(target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(objectInfo.get());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer),
      std::unique_ptr<llvm::MCCodeEmitter>(target->createMCCodeEmitter(*instructions, context)),
      *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *info));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(false))
    return {};

  auto binary = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object"));
  if (!binary)
    throw std::runtime_error("no object file");
  for (const llvm::object::SectionRef &s : (*binary)->sections()) {
    auto name = s.getName();
    if (!name || *name != ".text")
      continue;
    auto contents = s.getContents();
    if (!contents)
      break;
    std::vector<uint32_t> words(contents->size() / 4);
    std::memcpy(words.data(), contents->data(), words.size() * 4);
    return words;
  }
  throw std::runtime_error("no .text section");
}

} // namespace

std::vector<uint32_t> assemble(std::string_view cpu, std::string_view text) {
  Diagnostics diagnostics;
  std::vector<uint32_t> words = textSection(cpu, "", text, diagnostics);
  if (!diagnostics.lines.empty())
    throw std::runtime_error("assembly failed: " + diagnostics.text);
  return words;
}

namespace {
std::vector<std::vector<uint32_t>> assembleWith(std::string_view cpu, std::string_view features,
                                                const std::vector<std::string> &texts) {
  // Each snippet is followed by a pattern that no instruction's dword has.
  constexpr uint32_t kEnd = 0x5ec7104e;
  std::vector<bool> refused(texts.size());
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::string all;
    std::vector<size_t> snippetOfLine = {0};
    for (size_t i = 0; i < texts.size(); ++i) {
      std::string text = (refused[i] ? "" : texts[i] + "\n") + ".long 0x5ec7104e\n";
      for (char c : text)
        if (c == '\n')
          snippetOfLine.push_back(i);
      all += text;
    }
    Diagnostics diagnostics;
    std::vector<uint32_t> words = textSection(cpu, features, all, diagnostics);
    for (int line : diagnostics.lines)
      refused[snippetOfLine.at(static_cast<size_t>(line))] = true;
    if (!diagnostics.lines.empty())
      continue;
    std::vector<std::vector<uint32_t>> each(texts.size());
    size_t i = 0;
    for (uint32_t w : words)
      if (w == kEnd)
        ++i;
      else
        each.at(i).push_back(w);
    if (i != texts.size())
      throw std::runtime_error("the snippets' code does not divide");
    return each;
  }
  throw std::runtime_error("the assembler refuses what it had accepted");
}
} // namespace

std::vector<std::vector<uint32_t>> assembleEach(std::string_view cpu,
                                                const std::vector<std::string> &texts) {
  if (cpu.substr(0, 4) == "gfx9")
    return assembleWith(cpu, "", texts);
  std::vector<std::vector<uint32_t>> each = assembleWith(cpu, "-real-true16", texts);
  std::vector<std::string> others = texts;
  for (size_t i = 0; i < texts.size(); ++i)
    if (!each[i].empty())
      others[i].clear();
  const std::vector<std::vector<uint32_t>> named = assembleWith(cpu, "+real-true16", others);
  for (size_t i = 0; i < texts.size(); ++i)
    if (each[i].empty())
      each[i] = named[i];
  return each;
}

} // namespace flyemu::test
