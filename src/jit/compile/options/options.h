// What a compile is asked for.
#pragma once

#include <flydsl/target.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flydsl::jit {

/// One file of bitcode, read.
struct Bitcode {
  std::string path; ///< for messages
  std::shared_ptr<const std::string> bytes;
};

/// What a compile is told beside the IR. Whatever of it changes the code is part of the kernel's
/// cache key (see ir_key.h).
struct CompileOptions {
  Target target;
  /// 0 to 3; FLYDSL_COMPILE_OPT_LEVEL.
  unsigned optLevel = 2;
  /// How many waves of an execution unit registers are allocated for; 0 leaves it open. A backend
  /// without such waves refuses it.
  unsigned wavesPerEu = 0;
  /// The most vector registers that a lane may have; 0 leaves it open.
  unsigned maxRegisters = 0;
  /// Attributes of the kernel's function, and options of LLVM's, by name and value.
  std::vector<std::pair<std::string, std::string>> attributes, llvmOptions;
  /// Use the approximations of the device's library. The IR's own flags say what else may be fast.
  bool fastMath = false;
  /// Make DWARF line tables; locations are then part of the key. FLYDSL_DEBUG_ENABLE_DEBUG_INFO.
  bool lineTables = false;
  /// Leave the order of instructions in scheduling groups to LLVM's own step, which takes longer and
  /// makes the same code. FLYDSL_COMPILE_GROUP_SCHEDULER.
  bool llvmGroupScheduler = false;
  /// Verify the IR that is given and what the passes make of it; with dumps, after each stage.
  /// FLYDSL_DEBUG_ENABLE_VERIFIER.
  bool verify = true;
  /// Refuse reads of registers that nothing has written, as a TraceError. Of a traced kernel alone:
  /// what was written elsewhere is compiled as it is.
  bool checkRegisterReads = false;
  /// Begin registers that only some paths write with a mark that the emulator's check of values
  /// that nobody wrote looks for. Needs checkRegisterReads; a backend without a mark makes none.
  bool markUnwritten = false;
  /// Put red zones of so many bytes after the kernel's arrays in shared memory, by which the
  /// emulator's check of memory names an access that leaves its array; 0 for none. A backend without
  /// them makes none.
  std::uint64_t redZone = 0;
  /// The directory for dumps of the IR; empty for none. FLYDSL_DUMP_IR, FLYDSL_DUMP_DIR.
  std::string dumpDir;
  /// The bitcode to link. If it is empty, a compile reads what the IR names.
  std::vector<Bitcode> bitcode;
  /// A compile that takes longer is given up; 0 waits for ever. FLYDSL_COMPILE_TIMEOUT.
  unsigned timeoutSeconds = 600;

  /// For `target`, with everything else as the environment says. Throws flydsl::Error for a bad
  /// value.
  static CompileOptions fromEnvironment(const Target &target);
};

} // namespace flydsl::jit
