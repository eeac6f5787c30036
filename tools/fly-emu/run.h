// fly-emu run.
#pragma once

#include "argument.h"
#include "emulator/loader/kernarg.h"

#include <string>
#include <vector>

namespace flyemu::tool {

struct RunOptions {
  std::string file, kernel;
  std::string target = "gfx942";
  loader::LaunchShape shape;
  std::vector<std::string> arguments;
  unsigned threads = 0;
  unsigned checks = 0;
  uint64_t limit = 0; ///< wave instructions of one wave; 0: the core's
  uint64_t timeout = 0; ///< seconds of the launch; 0: any
  bool counters = false;
  bool trace = false;
};

/// Loads, launches, delivers. Returns the process's exit status: 0, or 1 when the launch failed or
/// a check found something. Throws std::exception for what cannot be run.
int run(const RunOptions &options);

/// Lists the kernels of a code object with their resources and arguments.
int list(const std::string &file, const std::string &target);

} // namespace flyemu::tool
