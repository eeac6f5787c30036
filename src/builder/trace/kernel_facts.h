// What is known of the kernel that is traced: its name, its launch, its target.
#pragma once

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>
#include <flydsl/target.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace flydsl::builder {

struct KernelFacts {
  std::string name;
  /// Threads of a block along x, y and z; all 0 if the launch is not known.
  std::array<unsigned, 3> block;
  /// What the trace is for; none if that is not known.
  std::optional<Target> target;
  /// Where the kernel object is made.
  SourceLocation origin;
  /// True if a tensor of the kernel's arguments spans 4 GiB or more, which a buffer's 32-bit
  /// offsets don't reach.
  bool hasLargeTensor = false;
  /// The parameters that are tensors whose elements are too many for their extents' 32 bits.
  std::vector<unsigned> uncounted = {};
  /// True if marks and ranges of the kernel's timeline are recorded (flydsl/kernel/ktrace.h).
  bool recordsEvents = false;

  bool knowsBlock() const { return block[0] != 0; }
  /// Threads of a block along a dimension; one that the launch leaves out has 1.
  unsigned blockSize(unsigned dimension) const { return std::max(block[dimension], 1u); }

  /// The waves of a block of the target; none if the block is not known. The target must be.
  std::optional<int> waves() const;

  /// "parameter 0 of kernel x, of file:line", for messages.
  std::string parameterName(unsigned index) const;
  /// The target; a TraceError that names `what` if it is not known.
  const Target &targetFor(const char *what, Loc loc) const;
  /// The same, after a check that it has a feature. A TraceError that names the processors with the
  /// feature if it does not.
  const Target &targetWith(Feature feature, const char *what, Loc loc) const;
};

} // namespace flydsl::builder
