// The commands of fly-emu that run a kernel or list the kernels of a code object.
#pragma once

#include "argument.h"
#include "emulator/core/dispatch.h"
#include "emulator/isa/machine.h"
#include "emulator/loader/kernarg.h"

#include <optional>
#include <string>
#include <vector>

namespace flyemu::tool {

struct RunOptions {
  std::string file, kernel;
  std::string target = defaultMachine().name();
  loader::LaunchShape shape;
  std::vector<std::string> arguments;
  unsigned threads = 0;
  unsigned checks = 0;
  /// Options::landLate; where it is not given, late if waits are checked
  std::optional<bool> landLate;
  Order order;
  uint32_t slice = kDefaultSlice; ///< Options::slice
  uint64_t limit = 0;   ///< wave instructions of one wave; 0: the limit of the emulator's core
  uint64_t timeout = 0; ///< seconds of the launch; 0: no limit
  std::string part;     ///< the product by whose figures time is estimated; empty: the default one
  bool warmLastCache = false; ///< what the launch touches is in the cache in front of memory
  bool counters = false;
  bool weakMemory = false;             ///< Options::weakMemory
  Products products = Products::Exact; ///< Options::products
  bool trace = false;
  std::string timeline; ///< a file; empty: none
  uint64_t timelineBlocks = 1;
};

/// Loads and launches the kernel and delivers its buffers. Returns the process's exit status: 0, or
/// 1 if the launch failed or a check found something. Throws std::exception if the kernel cannot be
/// run.
int run(const RunOptions &options);

/// Lists the kernels of a code object with their resources and arguments.
int list(const std::string &file, const std::string &target);

} // namespace flyemu::tool
