// AMD's part of making code: what the backend does to a module, in pieces.
#pragma once

#include "jit/compile/options/options.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
class TargetPassConfig;
} // namespace llvm

namespace flydsl::jit {

/// Turns calls of the device library that ask for the size of block and grid into constants or
/// loads of implicit arguments.
void useImplicitSizes(llvm::Module &module);

/// Turns calls of `printf` into records in the launch's printf buffer, as HIP's runtime reads them.
void lowerPrintf(llvm::Module &module);

/// Defines what `module` declares and calls: first from `options.bitcode`, then from ROCm's device
/// library, whose controls are set for the options. False after a diagnostic.
bool linkWithDeviceLibrary(llvm::Module &module, const CompileOptions &options);

/// For RDNA: keeps LLVM from folding moves between lanes into
/// instructions that have no form for it.
void hideDppFromWideOperands(llvm::Module &module);

/// For gfx1250: an instruction without vector registers before each barrier, because LLVM sets the banks of
/// registers one instruction too early there.
void pauseBeforeBarriers(llvm::TargetPassConfig &passes);

/// After LLVM's middle end: integers of more than 24 bits become bf16 in one rounding.
void roundIntegersOnce(llvm::Module &module);

/// Keeps waits of releases that LLVM would take out though something is under way.
void keepReleaseWaits(llvm::TargetPassConfig &passes, const Target &target);

/// After LLVM's middle end: divides integers of up to 32 bits. LLVM's code for that is wrong for some of them.
void divideShortNumbers(llvm::Module &module);

/// Shows instruction selection, after LLVM's middle end, which factors of 64-bit products have 32 bits.
void showNarrowFactors(llvm::Module &module);

/// After LLVM's middle end: tells instruction selection which minima and maxima of 64 bits a wave's lanes
/// have in common, where vector instructions compute them.
void keepMinimaUniform(llvm::Module &module, llvm::TargetMachine &machine);

/// Whether the module names products of four or eight numbers without sign (v_dot4_u32_u8, v_dot8_u32_u4).
bool namesUnsignedDots(const llvm::Module &module);
/// After LLVM's middle end: products of bytes of a module that does are no part of such a sum.
void hideByteProducts(llvm::Module &module);

/// After LLVM's middle end: loads of arguments that the kernel reads again.
void readArgumentsAgain(llvm::Module &module);

/// After LLVM's middle end: keeps matrix instructions with scales from moving to where threads have
/// parted, into blocks that use their results.
void keepScaledProducts(llvm::Module &module);

/// Tells LLVM that the marks of arrays in LDS touch no memory of the program. An assembly statement
/// that may touch it would make LLVM take a uniform load after it for one whose value may change, and
/// load it in each lane.
void leaveMemoryToMarks(llvm::Module &module);

/// Attributes of the target and of kernels; functions that are no kernels become the module's own.
void setAttributes(llvm::Module &module, const CompileOptions &options);

/// Links through comgr. Nothing where comgr is not installed, does not list the target's ISA or
/// fails; why is logged at debug level.
std::optional<std::vector<std::uint8_t>> linkWithComgr(std::span<const char> object,
                                                       const Target &target);

} // namespace flydsl::jit
