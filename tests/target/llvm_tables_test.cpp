// Compares the table of processors with LLVM's own tables: MC's subtarget features, the target
// parser, and MLIR's chipsets.
#include "assemble.h"
#include "target/processors.h"

#include <catch2/catch.hpp>

#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/TargetParser.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
}

using namespace flydsl;

namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const Target &target) {
  static const llvm::Triple triple("amdgcn-amd-amdhsa");
  static const llvm::Target *amdgpu = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(triple, error);
  }();
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      amdgpu->createMCSubtargetInfo(triple, target.name(), ""));
}

/// A feature, and features of LLVM: one of them at least means the same.
struct Counterpart {
  Feature feature;
  std::vector<const char *> llvm;
};

// LLVM ties the transposing reads, the wide loads to LDS and the scaled MFMA to gfx950 as a whole,
// the tensor mover and its asynchronous copies to gfx1250, split barriers and wait counts to gfx12,
// DPP's moves between rows to gfx9 (and gfx8), and v_permlanex16 to gfx10 and what came later.
const std::vector<Counterpart> counterparts = {
    {Feature::mfma, {"mai-insts"}},
    {Feature::mfma, {"dot1-insts"}}, // v_dot4_i32_i8
    {Feature::wmma, {"dot8-insts"}}, // v_dot4_i32_iu8
    {Feature::accumulation_registers, {"mai-insts"}},
    {Feature::xf32, {"xf32-insts"}},
    {Feature::mfma_scale, {"gfx950-insts"}},
    {Feature::wmma_scale, {"gfx1250-insts"}},
    {Feature::fp8_conversions, {"fp8-conversion-insts"}},
    {Feature::fp4_conversions, {"fp4-cvt-scale-insts"}},
    {Feature::bf16_conversions, {"bf16-cvt-insts"}},
    {Feature::stochastic_bf16, {"f32-to-f16bf16-cvt-sr-insts"}},
    {Feature::packed_f32, {"packed-fp32-ops"}},
    {Feature::buffer_to_lds, {"vmem-to-lds-load-insts"}},
    {Feature::buffer_to_lds_wide, {"gfx950-insts"}},
    {Feature::lds_transpose_read, {"gfx950-insts"}},
    {Feature::permlane_swap, {"permlane32-swap"}},
    {Feature::dpp_across_rows, {"gfx9"}},
    {Feature::dpp_row_xmask, {"gfx10-insts"}},
    {Feature::permlanex16, {"gfx10-insts"}},
    {Feature::clusters, {"clusters"}},
    {Feature::split_barriers, {"gfx12-insts"}},
    {Feature::split_wait_counts, {"gfx12-insts"}},
    {Feature::async_lds, {"gfx1250-insts"}},
    {Feature::tensor_mover, {"gfx1250-insts"}},
};

} // namespace

TEST_CASE("LLVM's subtargets have the features that the table says") {
  for (const Target &target : Target::all()) {
    const auto llvm = subtarget(target);
    for (const Counterpart &row : counterparts) {
      INFO(target.name() << " " << name(row.feature));
      bool has = false;
      for (const char *feature : row.llvm)
        has |= llvm->checkFeatures(std::string("+") + feature);
      CHECK(target.has(row.feature) == has);
    }
  }
}

TEST_CASE("LLVM's target parser has the same processors, wave sizes and switchable features") {
  for (const detail::Processor &processor : detail::processors()) {
    INFO(processor.name);
    const auto kind = llvm::AMDGPU::parseArchAMDGCN(llvm::StringRef(processor.name));
    REQUIRE(kind != llvm::AMDGPU::GK_NONE);
    const unsigned features = llvm::AMDGPU::getArchAttrAMDGCN(kind);
    CHECK((processor.waveSize == 32) == ((features & llvm::AMDGPU::FEATURE_WAVE32) != 0));
    CHECK(processor.switches.sramecc == ((features & llvm::AMDGPU::FEATURE_SRAMECC) != 0));
    // Where xnack is always on (FEATURE_XNACK_ALWAYS), clang takes no xnack in a target id either.
    CHECK(processor.switches.xnack == ((features & llvm::AMDGPU::FEATURE_XNACK) != 0));
  }
}

TEST_CASE("LLVM's subtargets have the LDS that the table says") {
  for (const Target &target : Target::all()) {
    INFO(target.name());
    const std::string feature = "+addressablelocalmemorysize" + std::to_string(target.lds_bytes());
    CHECK(subtarget(target)->checkFeatures(feature));
  }
}

TEST_CASE(
    "LLVM's assembler takes the offsets of global memory that the table says, and no larger one") {
  for (const detail::Processor &processor : detail::processors()) {
    INFO(processor.name);
    const std::int64_t end = std::int64_t(1) << (processor.globalOffsetBits - 1);
    const bool isGfx9 = detail::isCdna(processor.family);
    const auto load = [&](std::int64_t offset) {
      return std::string(isGfx9 ? "global_load_dword" : "global_load_b32") +
             " v0, v1, s[2:3] offset:" + std::to_string(offset);
    };
    const auto codes = flyemu::test::assembleEach(
        processor.name, {load(end - 1), load(end), load(-end), load(-end - 1)});
    CHECK_FALSE(codes[0].empty());
    CHECK(codes[1].empty());
    CHECK_FALSE(codes[2].empty());
    CHECK(codes[3].empty());
  }
}

TEST_CASE("MLIR's chipsets read the same names and have the same 8-bit floats") {
  for (const Target &target : Target::all()) {
    INFO(target.name());
    auto chipset = mlir::amdgpu::Chipset::parse(target.name());
    REQUIRE(mlir::succeeded(chipset));
    if (!target.has(Feature::fp8_conversions)) {
      CHECK_FALSE(target.has(Feature::ocp_fp8));
      CHECK_FALSE(target.has(Feature::fnuz_fp8));
      continue;
    }
    CHECK(target.has(Feature::ocp_fp8) == mlir::amdgpu::hasOcpFp8(*chipset));
    CHECK(target.has(Feature::ocp_fp8) != target.has(Feature::fnuz_fp8));
  }
}
