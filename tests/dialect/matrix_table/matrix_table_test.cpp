// The rows of the matrix instructions against LLVM's assembler, LLVM's intrinsics and MLIR's
// operations.
#include "assemble.h"
#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include <catch2/catch.hpp>

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

#include <algorithm>
#include <map>

using namespace mlir::fly_rocdl;
using flydsl::Target;
using flydsl::detail::matrixInstructions;
using flydsl::detail::mxFormat;

namespace {

bool isScaled(const MatrixInstruction &row) { return row.scaleBlock != 0; }

/// "v[8:11]": the registers that hold an operand.
std::string registersAt(int first, const Registers &registers) {
  const int count = registers.bits() / 32;
  std::string text = "v[" + std::to_string(first);
  return text + ":" + std::to_string(first + count - 1) + "]";
}

/// A line of assembly: LLVM's mnemonic is the row's name, and takes registers of the row's sizes.
std::string assemblyOf(const MatrixInstruction &row) {
  static constexpr const char *formats[] = {"FP8", "BF8", "FP6", "BF6", "FP4"};
  std::string name(row.name);
  std::replace(name.begin(), name.end(), '.', '_');
  std::string text = "v_" + name + " " + registersAt(0, row.registersC) + ", " +
                     registersAt(64, row.registersA) + ", " + registersAt(96, row.registersB) +
                     ", " + registersAt(32, row.registersC);
  if (row.family == MatrixFamily::MFMAScale)
    text += ", v128, v129 op_sel_hi:[0,0,0] cbsz:" + std::to_string(mxFormat(row.a)) +
            " blgp:" + std::to_string(mxFormat(row.b));
  if (row.family == MatrixFamily::GFX1250Scale) {
    text += row.scaleBlock == 16 ? ", v[128:129], v[130:131]" : ", v128, v129";
    if (row.m == 16)
      text += std::string(" matrix_a_fmt:MATRIX_FMT_") + formats[mxFormat(row.a)] +
              " matrix_b_fmt:MATRIX_FMT_" + formats[mxFormat(row.b)];
  }
  return text;
}

/// The operation of the row in a function of the LLVM dialect.
std::string moduleOf(const MatrixInstruction &row, mlir::MLIRContext &context) {
  auto text = [&](const Registers &registers) {
    return mlir::fly::typeText(registerType(registers, &context));
  };
  const std::string a = text(row.registersA), b = text(row.registersB), c = text(row.registersC);
  std::string operands = "%a, %b, %c", types = a + ", " + b + ", " + c;
  const std::string scale = row.scaleBlock == 16 ? "i64" : "i32";
  if (row.family == MatrixFamily::MFMA) {
    operands += ", %zero, %zero, %zero";
    types += ", i32, i32, i32";
  } else if (row.family == MatrixFamily::MFMAScale) {
    operands += ", %fa, %fb, %zero, %s, %zero, %s";
    types += ", i32, i32, i32, i32, i32, i32";
  } else if (isScaled(row)) {
    operands += ", %s, %s";
    types += ", " + scale + ", " + scale;
  }
  std::string attributes;
  if (row.family == MatrixFamily::GFX1250Scale && row.m == 16)
    attributes = " {fmtA = " + std::to_string(mxFormat(row.a)) +
                 " : i32, fmtB = " + std::to_string(mxFormat(row.b)) + " : i32}";
  auto constant = [](int value) {
    return " = llvm.mlir.constant(" + std::to_string(std::max(value, 0)) + " : i32) : i32\n";
  };
  return "llvm.func @f(%a: " + a + ", %b: " + b + ", %c: " + c + ", %s: " + scale + ") -> " + c +
         " {\n%zero" + constant(0) + "%fa" + constant(mxFormat(row.a)) + "%fb" +
         constant(mxFormat(row.b)) + "%d = \"rocdl." + std::string(row.name) + "\"(" + operands +
         ")" + attributes + " : (" + types + ") -> " + c + "\nllvm.return %d : " + c + "\n}\n";
}

} // namespace

TEST_CASE("LLVM assembles each matrix instruction on the processors of its row and on no other") {
  const auto rows = matrixInstructions();
  std::vector<std::string> lines;
  for (const MatrixInstruction &row : rows)
    lines.push_back(assemblyOf(row));
  for (const Target &target : Target::all()) {
    const auto codes = flyemu::test::assembleEach(target.name(), lines);
    // Rows of other element types may share a name: fp8 has another format on gfx950.
    std::map<std::string, bool> claimed;
    for (std::size_t i = 0; i < rows.size(); ++i)
      claimed[lines[i]] |= rows[i].isOn(target.family());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      INFO(target.name() << ": " << lines[i]);
      // LLVM's assembler takes RDNA4's instructions for gfx1250 too. The sources that describe
      // gfx1250 have none of them but one, which has a row of its own.
      if (target.family() == flydsl::Family::gfx1250 && rows[i].family == MatrixFamily::GFX120X)
        continue;
      CHECK(!codes[i].empty() == claimed[lines[i]]);
    }
  }
}

TEST_CASE("the processors of a row have its feature") {
  for (const MatrixInstruction &row : matrixInstructions())
    for (const Target &target : Target::all()) {
      INFO(target.name() << ": " << row.name);
      CHECK((!row.isOn(target.family()) || target.has(row.feature)));
    }
}

TEST_CASE("each row is an operation of MLIR and an intrinsic of LLVM that take its registers") {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect, mlir::DLTIDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerROCDLDialectTranslation(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (const MatrixInstruction &row : matrixInstructions()) {
    const std::string text = moduleOf(row, context);
    INFO(text);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    REQUIRE(module);
    llvm::LLVMContext llvmContext;
    const auto translated = mlir::translateModuleToLLVMIR(*module, llvmContext);
    REQUIRE(translated);
    CHECK_FALSE(llvm::verifyModule(*translated));
    std::string called;
    for (const llvm::Instruction &instruction : translated->getFunction("f")->getEntryBlock())
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        called = call->getCalledFunction()->getName().str();
    std::string expected = "llvm.amdgcn." + std::string(row.name);
    std::replace(expected.begin(), expected.end(), '_', '.');
    CHECK(llvm::StringRef(called).starts_with(expected));
  }
}
