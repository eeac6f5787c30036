#include "emulator/loader/source_lines.h"

#include <llvm/DebugInfo/DWARF/DWARFCompileUnit.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFFormValue.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <elf.h>
#include <mutex>
#include <optional>
#include <vector>

namespace flyemu::loader {

namespace {
/// Whether a compressed section claims a size that LLVM must not try to allocate: it would end the
/// process.
bool expandsTooFar(const llvm::object::ObjectFile &object) {
  constexpr uint64_t kMost = uint64_t(256) << 20;
  for (const llvm::object::SectionRef &section : object.sections()) {
    if (!section.isCompressed())
      continue;
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (!contents) {
      llvm::consumeError(contents.takeError());
      return true;
    }
    ::Elf64_Chdr header;
    if (contents->size() < sizeof header)
      return true;
    std::memcpy(&header, contents->data(), sizeof header);
    if (header.ch_size > kMost)
      return true;
  }
  return false;
}

/// Reads a list of entries of a line table's header (DWARF 5, 6.2.4.1), directories or files: their
/// format, their number and themselves. False where LLVM could not go on.
bool skipEntries(const llvm::DataExtractor &data, llvm::DataExtractor::Cursor &at,
                 llvm::dwarf::FormParams params) {
  std::vector<llvm::dwarf::Form> forms;
  for (unsigned left = data.getU8(at); left && at; --left) {
    (void)data.getULEB128(at); // what it says of an entry
    forms.push_back(static_cast<llvm::dwarf::Form>(data.getULEB128(at)));
  }
  const uint64_t count = data.getULEB128(at);
  if (count > data.size() || (count && forms.empty())) // LLVM would make room for all of them
    return false;
  for (uint64_t entry = 0; entry < count && at; ++entry)
    for (llvm::dwarf::Form form : forms) {
      uint64_t offset = at.tell();
      if (!llvm::DWARFFormValue::skipValue(form, data, &offset, params) || offset < at.tell() ||
          offset > data.size())
        return false;
      data.skip(at, offset - at.tell());
    }
  return static_cast<bool>(at);
}

/// Whether the forms that a line table's header names are ones that LLVM knows. It takes those in a
/// table for granted, and runs into what stands behind its function otherwise (LLVM 22,
/// DWARFFormValue::extractValue).
bool hasKnownForms(const llvm::DataExtractor &data, uint64_t offset) {
  llvm::DataExtractor::Cursor at(offset);
  const bool isLong = data.getU32(at) == 0xffffffff;
  if (isLong)
    (void)data.getU64(at);
  const uint16_t version = data.getU16(at);
  bool known = true;
  if (version >= 5) {
    const uint8_t addressSize = data.getU8(at);
    data.skip(at, 1 + (isLong ? 8 : 4)); // the segment selector's size, the header's length
    data.skip(at, 5); // from the least length of an instruction to the range of lines
    const uint8_t opcodes = data.getU8(at);
    data.skip(at, opcodes ? opcodes - 1 : 0);
    const llvm::dwarf::FormParams params{version, addressSize,
                                         isLong ? llvm::dwarf::DWARF64 : llvm::dwarf::DWARF32};
    known = addressSize == 8 && skipEntries(data, at, params) && skipEntries(data, at, params);
  }
  // LLVM sees by itself that a table ends too early.
  llvm::consumeError(at.takeError());
  return known;
}

/// Whether the line table of each unit has known forms.
bool hasKnownForms(llvm::DWARFContext &context) {
  const llvm::StringRef lines = context.getDWARFObj().getLineSection().Data;
  const llvm::DataExtractor data(lines, context.isLittleEndian(), 8);
  for (const std::unique_ptr<llvm::DWARFUnit> &unit : context.compile_units()) {
    const llvm::DWARFDie die = unit->getUnitDIE();
    const std::optional<uint64_t> table =
        die ? llvm::dwarf::toSectionOffset(die.find(llvm::dwarf::DW_AT_stmt_list)) : std::nullopt;
    if (table && !hasKnownForms(data, *table + unit->getLineTableOffset()))
      return false;
  }
  return true;
}
} // namespace

struct SourceLines::Impl {
  std::vector<uint8_t> file;
  std::mutex mutex;
  bool read = false;
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> context;

  void readTables() {
    read = true;
    const llvm::StringRef bytes(reinterpret_cast<const char *>(file.data()), file.size());
    auto made =
        llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "code object"));
    if (!made) {
      llvm::consumeError(made.takeError());
      return;
    }
    if (expandsTooFar(**made))
      return;
    object = std::move(*made);
    // Damaged tables give no lines; the kernel runs all the same.
    auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    context = llvm::DWARFContext::create(
        *object, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", ignore, ignore);
    if (!hasKnownForms(*context))
      context.reset();
  }
};

SourceLines::SourceLines(ByteView file) : impl_(new Impl) {
  impl_->file.assign(file.data(), file.data() + file.size());
}
SourceLines::~SourceLines() = default;

std::string SourceLines::at(uint64_t address) const {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->read)
    impl_->readTables();
  if (!impl_->context)
    return {};
  llvm::DILineInfoSpecifier how;
  how.FLIKind = llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue;
  llvm::DIInliningInfo frames = impl_->context->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection}, how);
  std::string text;
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo &frame = frames.getFrame(i);
    if (!frame.Line || frame.FileName == llvm::DILineInfo::BadString)
      continue;
    text += (text.empty() ? "" : " in ") + frame.FileName + ":" + std::to_string(frame.Line);
  }
  return text;
}

} // namespace flyemu::loader
