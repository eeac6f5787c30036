// The events of one launch: the buffer that the kernel fills, and what is read from it.
#pragma once

#include "support/ktrace_record.h"

#include <flydsl/kernel/ktrace.h>

#include <span>
#include <string>
#include <vector>

namespace flydsl::runtime {

struct LaunchFacts;

/// The buffer of one launch on the current device. It is made before the launch and read after it.
class Recording {
public:
  /// Throws RuntimeError where the buffer can't be had, or FLYDSL_KTRACE_BLOCKS is no block of the
  /// grid.
  Recording(const LaunchFacts &facts, const LaunchConfig &config, int device,
            const SourceLocation &where);
  ~Recording();
  Recording(const Recording &) = delete;

  /// What the kernel's last argument is to be.
  void *buffer() const { return buffer_; }
  /// Waits for the launch's stream, reads the events, and hands them to whom they are for: the
  /// open captures, or else a file.
  void finish();

private:
  ktrace::Launch read() const;

  const LaunchFacts &facts_;
  const LaunchConfig &config_;
  int device_;
  SourceLocation where_;
  support::ktrace::Header header_;
  std::size_t regions_ = 0; ///< bytes behind the header
  void *buffer_ = nullptr;
};

/// The events of a launch out of its regions. `launch` has all but the events; `names` are the
/// names of the code object in their order.
void decodeEvents(ktrace::Launch &launch, const support::ktrace::Header &header,
                  std::span<const support::ktrace::Record> records,
                  std::span<const std::string> names);

/// Hands a launch to all open captures. False where there is none.
bool deliver(const ktrace::Launch &launch);

} // namespace flydsl::runtime
