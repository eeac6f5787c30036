// Kernels given as Fly IR instead of C++: IR that another program traced, a dump, or a kernel that
// was written with FlyDSL in Python.
#pragma once

#include <flydsl/detail/kernel_spec.h>
#include <flydsl/host/executable.h>

#include <source_location>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN

/// Options of `compile_ir`.
struct CompileIrConfig {
  std::string arch = {};       ///< target such as "gfx950"; empty: that of ARCH or of
                               ///< the current device
  std::string name = "module"; ///< name of the text in messages, such as its file
  KernelHints hints = {};      ///< registers, waves and fast math, which are not in the IR
  bool trusted = false;        ///< true if bytecode comes from a trusted source: it is
                               ///< then read in this process, without fly-opt
};

/// Compiles the kernels of a module, given as text or MLIR bytecode. The module is in Fly IR, or in
/// a dialect that Fly IR is lowered to; host functions in it are ignored. The caches are used, and
/// equal IR has equal keys whether it was traced or read. A damaged module is an error and does no
/// other harm: text is read with MLIR's crashes caught, and bytecode is read by another process,
/// fly-opt, which is installed with the library. The executable is named after the first kernel;
/// its code object contains all of them. Throws CompileError with the line of the text that is
/// wrong.
FLYDSL_API Executable
compile_ir(std::string_view module, const CompileIrConfig &config = {},
           const std::source_location &where = std::source_location::current());

FLYDSL_NAMESPACE_END
