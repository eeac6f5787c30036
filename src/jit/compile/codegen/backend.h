// What a compile asks of whoever makes the processor. A backend is the only place that knows one
// vendor's dialects, calling conventions, linkers and formats; a Target's vendor chooses it
// (see jit/compile/backends/backends.h).
#pragma once

#include "jit/code_object/code_object.h"
#include "jit/compile/options/options.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
class TargetPassConfig;
} // namespace llvm
namespace mlir {
class ArrayAttr;
class Attribute;
class Type;
class DialectRegistry;
} // namespace mlir

namespace flydsl::jit {

class TargetMachineLease;

/// A processor as LLVM spells it.
struct LlvmProcessor {
  std::string triple;
  std::string name;
  std::string features; ///< such as "+sramecc,-xnack"; empty where nothing is fixed
};

/// The stage that fails where a kernel reads registers that nothing has written.
inline constexpr const char *kRegisterReadsStage = "fly-check-register-reads";

/// The stages from traced Fly IR to LLVM's dialect, which are the same for every vendor but for the
/// last one, the vendor's conversion, and an expansion of its own operations before layouts are
/// lowered, where it has such.
/// `unwritten` are options of the stage kRegisterReadsStage by which it marks registers that only
/// some paths write.
std::vector<std::string> flyStages(const CompileOptions &options, const char *conversion,
                                   const char *expansion = nullptr,
                                   const std::string &unwritten = {});

/// Backends have no state, live as long as the process, and are called from many threads at once.
/// The target's id is parsed before a backend is asked (`Target::parse`): programs without a
/// compiler do it too.
class Backend {
public:
  virtual ~Backend() = default;

  virtual Vendor vendor() const = 0;

  /// Registers the dialects in which its kernels are traced beside the common ones.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Registers the dialects, conversions and translations to LLVM that its modules
  /// need when they are read or lowered.
  virtual void registerLoweringDialects(mlir::DialectRegistry &registry) const = 0;
  /// Registers the passes that its stages name beside the common ones. Called once.
  virtual void registerPasses() const = 0;

  /// The text of a module with the operations of its dialects as the MLIR that this is built with
  /// reads them; later versions write some in another way. Any module's text may come.
  virtual std::string forThisMlir(std::string text) const;

  /// Why its processors can't be compiled for with these options, or an empty text.
  virtual std::string problemWith(const CompileOptions &options) const;

  /// Why a kernel's function can't have an attribute of this name and value, or an empty text. A
  /// backend takes none unless it says otherwise.
  virtual std::string problemWithAttribute(const std::string &name, const std::string &value,
                                           const Target &target) const;

  /// The passes to the LLVM dialect as text, one stage an element; each parses by itself inside
  /// builtin.module(...). The Fly stages are left out for a module that is past them.
  virtual std::vector<std::string> stages(const CompileOptions &options, bool fromFly) const = 0;
  /// The attribute that marks a kernel among the functions of the LLVM dialect.
  virtual const char *kernelAttribute() const = 0;
  /// The number of the address space that shared memory has in the LLVM dialect.
  virtual unsigned sharedAddressSpace() const = 0;
  /// The paths of bitcode that a target attribute of a gpu.module names; null where it names none,
  /// or is another backend's.
  virtual mlir::ArrayAttr bitcodeOf(mlir::Attribute gpuTarget) const;

  /// The processor of one of its targets. Code generator, assembler and disassembler are registered
  /// in LLVM when this returns.
  virtual LlvmProcessor processor(const Target &target) const = 0;
  /// What generating code will need of a machine that was just made, as work for another thread
  /// while passes before that run, or nothing. The work must not touch what those use.
  virtual std::function<void()> warmUp(llvm::TargetMachine &) const { return {}; }
  /// Makes of a translated module what LLVM's middle end takes: links bitcode, sets attributes of
  /// kernels. False after a diagnostic through the module's LLVMContext.
  virtual bool prepare(llvm::Module &module, llvm::TargetMachine &machine,
                       const CompileOptions &options) const = 0;
  /// Changes what LLVM's middle end has made to what its code generator does better with.
  virtual void finish(llvm::Module &, llvm::TargetMachine &) const {}
  /// Generates what `link` takes; false if the target can't. An object, unless a backend says
  /// otherwise.
  virtual bool emit(llvm::Module &module, TargetMachineLease &machine,
                    const CompileOptions &options, llvm::SmallVectorImpl<char> &out) const;
  /// Puts passes of its own beside LLVM's before these generate code, or in their place. Where
  /// CompileOptions::llvmOptions set LLVM's, which may be those of a pass, none is replaced.
  virtual void choosePasses(llvm::TargetPassConfig &, const CompileOptions &) const {}
  /// Links to what the driver loads. Throws flydsl::CompileError with the linker's messages.
  virtual std::vector<std::uint8_t> link(std::span<const char> emitted,
                                         const Target &target) const = 0;
  /// Reads back the kernels and what they need. Throws flydsl::CompileError.
  virtual CodeObject describe(std::vector<std::uint8_t> bytes) const = 0;
};

} // namespace flydsl::jit
