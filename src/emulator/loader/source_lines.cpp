#include "emulator/loader/source_lines.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <elf.h>
#include <mutex>
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
