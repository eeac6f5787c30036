// An object that a backend makes of LLVM IR.
#pragma once

#include "jit/compile/backends/backends.h"
#include "jit/compile/codegen/codegen.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

#include <catch2/catch.hpp>

#include <string>

namespace flydsl::jit {

/// The object is not linked yet.
inline llvm::SmallVector<char, 0> objectOf(const std::string &text, const CompileOptions &options) {
  const Backend &backend = backendFor(options.target);
  TargetMachineLease machine(backend, options);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(text, "module"), problem, context);
  CAPTURE(problem.getMessage().str());
  REQUIRE(module);
  module->setTargetTriple((*machine).getTargetTriple());
  module->setDataLayout((*machine).createDataLayout());
  REQUIRE(backend.prepare(*module, *machine, options));
  llvm::SmallVector<char, 0> object;
  REQUIRE(backend.emit(*module, machine, options, object));
  return object;
}

} // namespace flydsl::jit
