// A module counts by what it means; where line tables are asked for, by its bytecode.
#include "jit/compile/ir_key.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "jit/compile/build_id.h"
#include "jit/compile/module/linked_bitcode.h"
#include "jit/compile/module_digest.h"
#include "jit/compile/options/options.h"

#include <flydsl/error.h>

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/raw_ostream.h"

namespace flydsl::jit {

/// Host functions without a launch region have no part in the code.
static void dropHostFunctions(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (mlir::isa<mlir::FunctionOpInterface>(op) && !op.walk([](mlir::gpu::LaunchOp) {
                                                         return mlir::WalkResult::interrupt();
                                                       }).wasInterrupted())
      op.erase();
}

/// Linked bitcode is part of the key by its content; its path is not.
static void dropBitcodePaths(mlir::ModuleOp module) {
  for (auto device : module.getOps<mlir::gpu::GPUModuleOp>())
    device->removeAttr(mlir::fly::kLinkLibsAttribute);
}

/// The device part as bytecode, with its locations.
static std::string bytecodeOf(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> device = module.clone();
  dropHostFunctions(*device);
  dropBitcodePaths(*device);
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  // The producer string is left out: the key has the builds by themselves.
  mlir::BytecodeWriterConfig config("");
  if (mlir::failed(mlir::writeBytecodeToFile(*device, stream, config)))
    throw CompileError("the kernel's IR can't be written as bytecode");
  return bytecode;
}

cache::Key irKey(mlir::ModuleOp module, const CompileOptions &options) {
  cache::KeyBuilder key;
  if (options.lineTables)
    key.add("ir with lines", bytecodeOf(module));
  else
    key.add("ir", moduleDigest(module).hex());
  key.add("target", options.target.id());
  key.add("opt", options.optLevel);
  key.add("waves", options.wavesPerEu);
  key.add("vgprs", options.maxRegisters);
  key.add("fast", options.fastMath);
  for (const auto &[name, value] : options.attributes)
    key.add("attribute", name + "=" + value);
  for (const auto &[name, value] : options.llvmOptions)
    key.add("llvm option", name + "=" + value);
  key.add("lines", options.lineTables);
  if (options.llvmGroupScheduler) // who suspects the quick one must not get its code
    key.add("group scheduler", "llvm");
  if (options.markUnwritten)
    key.add("marks", true);
  if (options.redZone)
    key.add("red zone", options.redZone);
  for (const Bitcode &bitcode : options.bitcode)
    key.add("bitcode", *bitcode.bytes);
  key.add("build", buildIdentity());
  return key.finish();
}

} // namespace flydsl::jit
