// printf of a kernel: the buffer that it writes records to, and their text.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/loader/metadata.h"

#include <string>
#include <vector>

namespace flyemu::hip {

/// One launch's buffer, as HIP's runtime lays it out for buffered printf: the bytes in use, the
/// bytes there are, then the records. A record is a control word (bit 1: the format is a constant;
/// bits 2 and up: its bytes), the format's hash or text, and the arguments in 8 bytes each, strings
/// by their characters.
class PrintfBuffer {
public:
  /// Does nothing for a kernel that has no printf.
  explicit PrintfBuffer(const loader::KernelNotes &kernel);

  bool isUsed() const { return !memory_.empty(); }
  /// The buffer, for the launch's memory.
  MemoryRange range();
  /// Writes its address where the kernel looks for it.
  void passTo(std::vector<uint8_t> &kernarg) const;
  /// What the kernel has printed.
  std::string text() const;

private:
  std::string record(const uint8_t *at, const uint8_t *end, bool constantFormat) const;

  const loader::KernelNotes &kernel_;
  uint32_t argumentOffset_ = 0;
  std::vector<uint8_t> memory_;
};

/// printf's text for a format and arguments of 8 bytes each; a string's are its characters, with a
/// zero, to a multiple of 8. What is missing is left out.
std::string formatPrintf(const std::string &format, const uint8_t *arguments, const uint8_t *end);

/// The same where the format itself stands first, as a string among the arguments does.
std::string formatMessage(const uint8_t *message, const uint8_t *end);

} // namespace flyemu::hip
