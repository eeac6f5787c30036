// Kernels that come as Fly IR instead of C++: what another program traced, a dump, a kernel written
// by FlyDSL in Python.
#pragma once

#include <flydsl/detail/kernel_spec.h>
#include <flydsl/executable.h>

#include <source_location>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN

/// What `compile_ir` takes beside the module.
struct CompileIrConfig {
  std::string arch = {};       ///< "gfx950": compile for that target; empty: ARCH, else the current
                               ///< device's
  std::string name = "module"; ///< what messages call the text: its file
  KernelHints hints = {};      ///< registers, waves and fast math; the IR does not hold them
  bool trusted = false;        ///< bytecode is from a source that does no harm: it is read in this
                               ///< process, without fly-opt
};

/// Compiles the kernels of a module, given as text or MLIR bytecode, in Fly IR or in what Fly IR is
/// lowered to; host functions in it are ignored. Caches serve it, and equal IR has equal keys
/// whether it was traced or read. A module that is damaged is an error and no more: text is read
/// with MLIR's crashes caught, and bytecode by a process of its own, fly-opt, which is installed with
/// the library. The executable is named after the first kernel; its code object
/// holds all. Throws CompileError, with the line of the text that is wrong.
FLYDSL_API Executable
compile_ir(std::string_view module, const CompileIrConfig &config = {},
           const std::source_location &where = std::source_location::current());

FLYDSL_NAMESPACE_END
