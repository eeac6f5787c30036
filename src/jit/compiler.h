// From a module to a code object: pass pipeline, LLVM IR, object, link, metadata. Thread-safe.
#pragma once

#include "jit/bitcode.h"
#include "jit/code_object.h"
#include <flydsl/target.h>

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// What changes the code, beside the IR and the target. All of it is part of a kernel's cache key,
/// `dump` excepted.
struct CompileOptions {
  Target target;
  unsigned optLevel = 2;   ///< 0 to 3; FLYDSL_COMPILE_OPT_LEVEL
  unsigned wavesPerEu = 0; ///< waves per execution unit to allocate registers for; 0 leaves it open
  unsigned maxVgprs = 0;   ///< limit of vector registers; 0 leaves it open
  bool fastMath = false;   ///< takes the device library's approximations; what else is fast, the
                           ///< IR's own flags say
  bool lineTables = false; ///< DWARF line tables; then locations are part of the key.
                           ///< FLYDSL_DEBUG_ENABLE_DEBUG_INFO
  bool verify = true;      ///< verify the IR given and what the passes make, after each where IR is
                           ///< dumped. FLYDSL_DEBUG_ENABLE_VERIFIER
  std::string dumpDir;     ///< where IR dumps go; empty for none. FLYDSL_DUMP_IR, FLYDSL_DUMP_DIR
  std::vector<Bitcode> bitcode;  ///< to link; a compile reads it from the IR where this is empty
  unsigned timeoutSeconds = 600; ///< a compile that takes longer is given up; 0 waits for ever.
                                 ///< FLYDSL_COMPILE_TIMEOUT

  /// For `target`, with everything else as the environment says. Throws flydsl::Error for a bad
  /// value.
  static CompileOptions fromEnvironment(const Target &target);
};

/// Compiles the kernels of the one gpu.module in `module`, from Fly IR or from any later stage
/// (gpu, scf, arith, vector, memref, rocdl, llvm). Host functions in the module are ignored.
/// `module` itself is left as it is. Throws flydsl::CompileError, naming kernel, pass and target,
/// whatever goes wrong, crashes of LLVM included.
std::shared_ptr<const CodeObject> compileModule(mlir::ModuleOp module,
                                                const CompileOptions &options);

/// The final ISA as text, by disassembly of the code object.
std::string disassemble(const CodeObject &object);

} // namespace flydsl::jit
