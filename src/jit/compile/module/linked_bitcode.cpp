// Reading the bitcode files that a module names.
#include "jit/compile/module/linked_bitcode.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "jit/compile/backends/backends.h"
#include "support/file.h"

#include <flydsl/error.h>

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/BinaryFormat/Magic.h"

#include <algorithm>

namespace flydsl::jit {

/// Larger than any device library.
static constexpr std::uint64_t kMaxBitcodeBytes = std::uint64_t(1) << 30;

static void readFiles(mlir::ArrayAttr paths, std::vector<Bitcode> &files) {
  for (mlir::Attribute attribute : paths) {
    auto path = mlir::dyn_cast<mlir::StringAttr>(attribute);
    if (!path)
      throw CompileError(mlir::fly::kLinkLibsAttribute.str() + ": a path is a string");
    std::string name = path.str();
    if (std::any_of(files.begin(), files.end(),
                    [&](const Bitcode &file) { return file.path == name; }))
      continue;
    support::FileContents file = support::readAll(name, kMaxBitcodeBytes);
    if (!file.bytes)
      throw CompileError("bitcode to link: " + name + ": " + file.problem);
    auto bytes = std::make_shared<std::string>(file.bytes->begin(), file.bytes->end());
    if (llvm::identify_magic(*bytes) != llvm::file_magic::bitcode)
      throw CompileError("bitcode to link: " + name + ": this is no LLVM bitcode");
    files.push_back({std::move(name), std::move(bytes)});
  }
}

std::vector<Bitcode> readLinkedBitcode(mlir::ModuleOp module) {
  std::vector<Bitcode> files;
  for (auto device : module.getOps<mlir::gpu::GPUModuleOp>()) {
    if (mlir::Attribute attribute = device->getAttr(mlir::fly::kLinkLibsAttribute)) {
      auto paths = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
      if (!paths)
        throw CompileError(mlir::fly::kLinkLibsAttribute.str() + ": expected an array of paths");
      readFiles(paths, files);
    }
    if (mlir::ArrayAttr targets = device.getTargetsAttr())
      for (mlir::Attribute target : targets)
        for (const Backend *backend : allBackends())
          if (mlir::ArrayAttr named = backend->bitcodeOf(target))
            readFiles(named, files);
  }
  return files;
}

} // namespace flydsl::jit
