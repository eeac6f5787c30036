// The backend. A kernel becomes a function of a shared object; a call of it runs one work-item.
#include "host_kernels.h"
#include "host_vendor.h"
#include "jit/compile/codegen/codegen.h"
#include "jit/compile/link/link_lld.h"
#include "target/processors.h"

#include <flydsl/error.h>

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <sstream>

namespace host_vendor {

using namespace flydsl;
using namespace flydsl::jit;

bool addProcessor() {
  static const detail::Processor processor = {
      .name = kProcessor,
      .vendor = Vendor::other,
      .family = Family::other,
      .waveSize = 1,
      .ldsBytes = 64 << 10,
      .maxBlockSize = 1024,
      .ldsBanks = 0,
      .registers = {},
      .wavesOfSimd = 1,
      .waitCounters = {},
      .switches = {},
      .features = {},
  };
  return detail::addProcessor(processor);
}

namespace {

/// The text in front of what a code object says of its kernels: "name offset:size offset:size\n".
constexpr std::string_view kNote = "host vendor's kernels:\n";

/// What the note says of a kernel. Its arguments are a struct: the kernel's first
/// instructions take the addresses of the fields.
std::string lineOf(const llvm::Function &kernel) {
  const llvm::DataLayout &layout = kernel.getParent()->getDataLayout();
  std::string line = kernel.getName().str();
  for (const llvm::Instruction &instruction : kernel.getEntryBlock())
    if (const auto *field = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
        field && field->getPointerOperand() == kernel.getArg(0)) {
      auto *arguments = llvm::cast<llvm::StructType>(field->getSourceElementType());
      for (unsigned i = 0; i < arguments->getNumElements(); ++i)
        line += " " + std::to_string(layout.getStructLayout(arguments)->getElementOffset(i)) + ":" +
                std::to_string(layout.getTypeStoreSize(arguments->getElementType(i)));
      break;
    }
  return line + "\n";
}

class HostBackend final : public Backend {
public:
  Vendor vendor() const override { return Vendor::other; }

  void registerDialects(mlir::DialectRegistry &) const override {}

  void registerLoweringDialects(mlir::DialectRegistry &registry) const override {
    mlir::registerConvertToLLVMDependentDialectLoading(registry);
  }

  void registerPasses() const override {
    mlir::fly::registerFlyToLLVMPasses();
    test::registerHostKernels();
  }

  std::string problemWith(const CompileOptions &options) const override {
    return options.wavesPerEu ? "the host's CPU has no waves" : "";
  }

  std::vector<std::string> stages(const CompileOptions &options, bool fromFly) const override {
    std::vector<std::string> stages;
    if (fromFly)
      stages = flyStages(options, "convert-fly-to-llvm");
    stages.push_back("canonicalize");
    stages.push_back(
        "gpu.module(fly-exact-ranges,convert-scf-to-cf,convert-vector-to-llvm,test-host-kernels,"
        "convert-to-llvm,reconcile-unrealized-casts)");
    return stages;
  }

  const char *kernelAttribute() const override {
    return mlir::gpu::GPUDialect::getKernelFuncAttrName().data();
  }
  unsigned sharedAddressSpace() const override { return 3; }

  LlvmProcessor processor(const Target &) const override {
    static const bool once = [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
      llvm::InitializeNativeTargetDisassembler();
      return true;
    }();
    (void)once;
    return {llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), ""};
  }

  bool prepare(llvm::Module &module, llvm::TargetMachine &, const CompileOptions &) const override {
    std::string note(kNote);
    for (const llvm::Function &function : module)
      if (!function.isDeclaration())
        note += lineOf(function);
    auto *text = llvm::ConstantDataArray::getString(module.getContext(), note);
    new llvm::GlobalVariable(module, text->getType(), true, llvm::GlobalValue::ExternalLinkage,
                             text, "host_note");
    return true;
  }

  std::vector<std::uint8_t> link(std::span<const char> object,
                                 const Target &target) const override {
    std::optional<Bytes> linked = linkWithLld(object, target);
    if (!linked)
      throw CompileError("LLD is out of use");
    return std::move(*linked);
  }

  CodeObject describe(std::vector<std::uint8_t> bytes) const override {
    CodeObject object;
    object.target = kProcessor;
    const std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    const std::size_t note = all.find(kNote);
    if (note == std::string_view::npos)
      throw CompileError("this is no code object of the host vendor's");
    std::istringstream lines{std::string(all.substr(note + kNote.size()).data())};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      KernelMetadata &kernel = object.kernels.emplace_back();
      words >> kernel.name;
      kernel.waveSize = 1;
      KernelArgument argument;
      argument.kind = "by_value";
      for (char colon; words >> argument.offset >> colon >> argument.size;) {
        kernel.arguments.push_back(argument);
        kernel.kernargBytes = argument.offset + argument.size;
      }
    }
    object.bytes = std::move(bytes);
    return object;
  }
};

} // namespace

const Backend &backend() {
  static const HostBackend &made = *new HostBackend;
  return made;
}

} // namespace host_vendor
