// What a compile is asked for.
#pragma once

#include <flydsl/target.h>

#include <memory>
#include <string>
#include <vector>

namespace flydsl::jit {

/// One file of bitcode, read.
struct Bitcode {
  std::string path; ///< for messages
  std::shared_ptr<const std::string> bytes;
};

/// What changes the code, beside the IR and the target. All of it is part of a kernel's cache key,
/// `dump` excepted.
struct CompileOptions {
  Target target;
  unsigned optLevel = 2;   ///< 0 to 3; FLYDSL_COMPILE_OPT_LEVEL
  unsigned wavesPerEu = 0; ///< waves per execution unit to allocate registers for; 0 leaves it open
  unsigned maxRegisters = 0; ///< limit of vector registers; 0 leaves it open
  bool fastMath = false;     ///< takes the device library's approximations; what else is fast, the
                             ///< IR's own flags say
  bool lineTables = false;   ///< DWARF line tables; then locations are part of the key.
                             ///< FLYDSL_DEBUG_ENABLE_DEBUG_INFO
  bool verify = true;  ///< verify the IR given and what the passes make, after each where IR is
                       ///< dumped. FLYDSL_DEBUG_ENABLE_VERIFIER
  std::string dumpDir; ///< where IR dumps go; empty for none. FLYDSL_DUMP_IR, FLYDSL_DUMP_DIR
  std::vector<Bitcode> bitcode;  ///< to link; a compile reads it from the IR where this is empty
  unsigned timeoutSeconds = 600; ///< a compile that takes longer is given up; 0 waits for ever.
                                 ///< FLYDSL_COMPILE_TIMEOUT

  /// For `target`, with everything else as the environment says. Throws flydsl::Error for a bad
  /// value.
  static CompileOptions fromEnvironment(const Target &target);
};

} // namespace flydsl::jit
