// Each function of AMD's backend is a line or two here; the long ones have files of their own.
#include "jit/compile/rocm/rocm_backend.h"

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "dialect/FlyROCDL/Text/ModuleText.h"
#include "jit/compile/guard/compiler_use.h"
#include "jit/compile/link/link_lld.h"
#include "jit/compile/rocm/kernel_attributes.h"
#include "jit/compile/rocm/llvm_target.h"
#include "jit/compile/rocm/register_aliases.h"
#include "jit/compile/rocm/rocm_codegen.h"
#include "jit/compile/rocm/schedule/schedulers.h"
#include "jit/compile/rocm/whole_wave_registers.h"

#include "support/unwritten.h"
#include "target/processors.h"

#include <flydsl/error.h>

#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"

#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

namespace flydsl::jit {

namespace {

void initializeAmdgpu() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // inline assembly
    LLVMInitializeAMDGPUDisassembler();
    keepWholeWaveRegisters();
  });
}

class RocmBackend final : public Backend {
public:
  Vendor vendor() const override { return Vendor::amd; }

  void registerDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mlir::fly_rocdl::FlyROCDLDialect, mlir::fly_ktrace::FlyKtraceDialect>();
  }

  void registerLoweringDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mlir::ROCDL::ROCDLDialect, mlir::amdgpu::AMDGPUDialect>();
    mlir::registerROCDLDialectTranslation(registry);
  }

  void registerPasses() const override {
    mlir::fly::registerFlyToROCDLPasses();
    mlir::registerPass([] { return mlir::createConvertGpuOpsToROCDLOps(); });
  }

  std::string forThisMlir(std::string text) const override {
    return mlir::fly_rocdl::forThisMlir(text);
  }

  std::string problemWith(const CompileOptions &options) const override {
    // LLVM would pass over a larger number without a word.
    const std::string name = options.target.name();
    const detail::Processor &processor = *detail::findProcessor(name);
    const auto most = [&](const char *hint, unsigned given, int limit) -> std::string {
      if (given <= static_cast<unsigned>(limit))
        return {};
      return "the hint " + std::string(hint) + " is 1 to " + std::to_string(limit) + " on " + name +
             ", not " + std::to_string(given);
    };
    const std::string waves = most("waves_per_eu", options.wavesPerEu, processor.wavesOfSimd);
    return !waves.empty() ? waves
                          : most("max_registers", options.maxRegisters, processor.registers.ofWave);
  }

  std::string problemWithAttribute(const std::string &name, const std::string &value,
                                   const Target &target) const override {
    return problemWithKernelAttribute(name, value, target);
  }

  std::vector<std::string> stages(const CompileOptions &options, bool fromFly) const override {
    std::vector<std::string> stages;
    if (fromFly)
      stages = flyStages(options, "convert-fly-to-rocdl", "fly-rocdl-expand-ops",
                         "unwritten=\"v_mov_b32 $0, " + std::to_string(support::kUnwrittenWord) +
                             "\" constraint==v");
    // That pattern compares every pair of the values that a loop carries, and fragments have left many
    // by now. Values that are carried twice become one in LLVM.
    stages.push_back("canonicalize{disable-patterns="
                     "\"(anonymous namespace)::RemoveDuplicateSuccessorInputUses\"}");
    stages.push_back(
        "gpu.module(fly-lower-ktrace{chipset=" + options.target.name() +
        "},fly-lds-alias-scopes,fly-scalar-lds-addresses,fly-split-addresses{offset-bits=" +
        std::to_string(detail::findProcessor(options.target.name())->globalOffsetBits) +
        "},fly-exact-ranges,convert-scf-to-cf,"
        "fly-convert-narrow-floats{chipset=" +
        options.target.name() + "},fly-convert-native-math,fly-lower-shuffles{chipset=" +
        options.target.name() + "},fly-lower-later-intrinsics{chipset=" + options.target.name() +
        "},cse,fly-lower-memory-spaces,"
        "fly-pin-immediates,convert-vector-to-llvm,"
        "convert-gpu-to-rocdl{chipset=" +
        options.target.name() +
        " index-bitwidth=0 runtime=OpenCL use-bare-ptr-memref-call-conv=true},"
        "reconcile-unrealized-casts)");
    if (options.redZone) // after what distinguishes the accesses of one variable
      stages.push_back("gpu.module(fly-lds-red-zones{bytes=" + std::to_string(options.redZone) +
                       "})");
    if (options.lineTables)
      stages.push_back("ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}");
    return stages;
  }

  const char *kernelAttribute() const override { return "rocdl.kernel"; }

  unsigned sharedAddressSpace() const override {
    return mlir::ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
  }

  mlir::ArrayAttr bitcodeOf(mlir::Attribute gpuTarget) const override {
    auto rocdl = mlir::dyn_cast<mlir::ROCDL::ROCDLTargetAttr>(gpuTarget);
    return rocdl ? rocdl.getLink() : mlir::ArrayAttr();
  }

  LlvmProcessor processor(const Target &target) const override {
    initializeAmdgpu();
    return {"amdgcn-amd-amdhsa", target.name(), llvmFeatures(target)};
  }

  std::function<void()> warmUp(llvm::TargetMachine &machine) const override {
    return findRegisterAliases(machine);
  }

  bool prepare(llvm::Module &module, llvm::TargetMachine &,
               const CompileOptions &options) const override {
    module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
    useImplicitSizes(module);
    lowerPrintf(module);
    if (!linkWithDeviceLibrary(module, options))
      return false;
    const Family family = options.target.family();
    if (family == Family::rdna3 || family == Family::rdna4)
      hideDppFromWideOperands(module);
    if (options.redZone)
      leaveMemoryToMarks(module);
    setAttributes(module, options);
    return true;
  }

  void finish(llvm::Module &module, llvm::TargetMachine &machine) const override {
    divideShortNumbers(module);
    roundIntegersOnce(module);
    showNarrowFactors(module);
    hideByteProducts(module);
    readArgumentsAgain(module);
    keepMinimaUniform(module, machine);
    keepScaledProducts(module);
  }

  void choosePasses(llvm::TargetPassConfig &passes, const CompileOptions &options) const override {
    if (!options.llvmGroupScheduler && options.llvmOptions.empty())
      useQuickGroupSchedulers(passes);
    if (options.target.family() == Family::gfx1250)
      pauseBeforeBarriers(passes);
    keepReleaseWaits(passes, options.target);
  }

  std::vector<std::uint8_t> link(std::span<const char> object,
                                 const Target &target) const override {
    std::optional<Bytes> linked = linkWithLld(object, target);
    if (!linked) {
      // LLD does not come through exit(), and comgr must not be loaded then: its LLVM would
      // register itself while ours is taken down.
      requireCompiler();
      linked = linkWithComgr(object, target);
    }
    if (!linked)
      throw CompileError("linking for " + target.id() +
                         " failed: LLD is out of use after an earlier crash, and no comgr that "
                         "lists the target is installed");
    return std::move(*linked);
  }

  CodeObject describe(std::vector<std::uint8_t> bytes) const override {
    return readCodeObject(std::move(bytes));
  }
};

} // namespace

const Backend &rocmBackend() {
  static const RocmBackend &backend = *new RocmBackend; // compiles may outlive main()
  return backend;
}

} // namespace flydsl::jit
