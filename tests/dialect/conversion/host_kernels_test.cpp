// The neutral conversion, proved by running what comes out on this machine: no part of any GPU's
// backend is registered.
#include "host_kernels.h"
#include "made_code.h"

#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"
#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/Transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/TargetSelect.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

using namespace mlir;

namespace {

/// Each work-item adds 4 neighbours through fragments, c = scale * a + b, and the first of them to
/// a total, by way of shared memory.
constexpr const char *kModule = R"(
!arg = !fly.memref<f32, global, ?:1, align<16>>
!tiles = !fly.memref<f32, global, ((4),(?)):((1),(4)), align<16>>
!part = !fly.memref<f32, global, 4:1, align<16>>
!fragment = !fly.memref<f32, register, 4:1>
!at = !fly.int_tuple<(*,?)>
!four = !fly.copy_atom<!fly.universal_copy<128>, 32>
!add = !fly.copy_atom<!fly.universal_atomic<#fly<atomic_op add>, f32>, 32>
gpu.module @kernels {
  gpu.func @add(%a: !arg, %b: !arg, %c: !arg, %total: !fly.ptr<f32, global>, %n: i32, %scale: f32) kernel {
    %tx = gpu.thread_id x
    %bx = gpu.block_id x
    %size = gpu.block_dim x
    %first = arith.muli %bx, %size : index
    %place = arith.addi %first, %tx : index
    %id = arith.index_cast %place : index to i32
    %inside = arith.cmpi slt, %id, %n : i32
    scf.if %inside {
      %tile = fly.static : !fly.tile<[4]>
      %mine = fly.make_int_tuple(%id) : (i32) -> !at
      %tilesA = fly.zipped_divide(%a, %tile) : (!arg, !fly.tile<[4]>) -> !tiles
      %tilesB = fly.zipped_divide(%b, %tile) : (!arg, !fly.tile<[4]>) -> !tiles
      %tilesC = fly.zipped_divide(%c, %tile) : (!arg, !fly.tile<[4]>) -> !tiles
      %fromA = fly.slice(%tilesA, %mine) : (!tiles, !at) -> !part
      %fromB = fly.slice(%tilesB, %mine) : (!tiles, !at) -> !part
      %toC = fly.slice(%tilesC, %mine) : (!tiles, !at) -> !part

      %atom = fly.static : !four
      %x = fly.make_fragment_like(%fromA) : (!part) -> !fragment
      %y = fly.make_fragment_like(%fromB) : (!part) -> !fragment
      fly.copy(%atom, %fromA, %x) : (!four, !part, !fragment) -> ()
      fly.copy(%atom, %fromB, %y) : (!four, !part, !fragment) -> ()
      %vx = fly.memref.load_vec(%x) : (!fragment) -> vector<4xf32>
      %vy = fly.memref.load_vec(%y) : (!fragment) -> vector<4xf32>
      %scales = vector.broadcast %scale : f32 to vector<4xf32>
      %sum = math.fma %vx, %scales, %vy : vector<4xf32>
      fly.memref.store_vec(%sum, %y) : (vector<4xf32>, !fragment) -> ()
      fly.copy(%atom, %y, %toC) : (!four, !fragment, !part) -> ()

      // The first element of each tile goes to the total, by way of shared memory.
      %s = fly.make_ptr() {dictAttrs = {allocBytes = 16 : i64, allocAlign = 16 : i64}} : () -> !fly.ptr<f32, shared, align<16>>
      %e = vector.extract %sum[0] : f32 from vector<4xf32>
      fly.ptr.store(%e, %s) : (f32, !fly.ptr<f32, shared, align<16>>) -> ()
      %again = fly.ptr.load(%s) : (!fly.ptr<f32, shared, align<16>>) -> f32
      %one = fly.static : !fly.layout<1:1>
      %t = fly.make_view(%total, %one) : (!fly.ptr<f32, global>, !fly.layout<1:1>) -> !fly.memref<f32, global, 1:1>
      %r = fly.memref.alloca(%one) : (!fly.layout<1:1>) -> !fly.memref<f32, register, 1:1>
      %zero = fly.make_int_tuple() : () -> !fly.int_tuple<0>
      fly.memref.store(%again, %r, %zero) : (f32, !fly.memref<f32, register, 1:1>, !fly.int_tuple<0>) -> ()
      %adds = fly.static : !add
      fly.copy(%adds, %r, %t) : (!add, !fly.memref<f32, register, 1:1>, !fly.memref<f32, global, 1:1>) -> ()
    }
    gpu.return
  }
}
)";

/// The path of every backend down to atom calls, and the neutral conversion.
constexpr const char *kPasses =
    "fly-rewrite-func-signature,fly-canonicalize,fly-layout-lowering,fly-int-swizzle-simplify,"
    "canonicalize,fly-convert-atom-call-to-ssa-form,fly-promote-regmem-to-vectorssa{pieces=true},"
    "convert-fly-to-llvm,canonicalize,"
    "gpu.module(fly-exact-ranges,convert-scf-to-cf,convert-vector-to-llvm,test-host-kernels,"
    "convert-to-llvm,"
    "reconcile-unrealized-casts)";

/// The arguments of @add: a tensor is its pointer and its dynamic numbers, packed.
struct Tensor {
  float *data;
  std::int32_t size;
};
struct Arguments {
  Tensor a, b, c;
  float *total;
  std::int32_t n;
  float scale;
};

DialectRegistry neutralDialects() {
  DialectRegistry registry;
  registry.insert<fly::FlyDialect, arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  return registry;
}

void registerNeutralPasses() {
  fly::registerFlyPasses();
  fly::registerFlyToLLVMPasses();
  registerCanonicalizerPass();
  registerSCFToControlFlowPass();
  registerConvertVectorToLLVMPass();
  registerReconcileUnrealizedCastsPass();
  flydsl::test::registerHostKernels();
}

} // namespace

TEST_CASE("a kernel of universal atoms runs on the host, without any GPU's backend", "[host]") {
  registerNeutralPasses();
  MLIRContext context(neutralDialects(), MLIRContext::Threading::DISABLED);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();

  auto module = parseSourceString<ModuleOp>(kModule, &context);
  REQUIRE(module);
  PassManager passes(&context);
  REQUIRE(succeeded(parsePassPipeline(kPasses, passes)));
  REQUIRE(succeeded(passes.run(*module)));
  CHECK(context.getLoadedDialect("rocdl") == nullptr);
  CHECK(context.getLoadedDialect("fly_rocdl") == nullptr);

  auto engine = ExecutionEngine::create(*module->getOps<gpu::GPUModuleOp>().begin());
  REQUIRE(static_cast<bool>(engine));
  auto found = (*engine)->lookup("add");
  REQUIRE(static_cast<bool>(found));

  constexpr int kTiles = 10, kBlock = 4, kGrid = 3; // two work-items have no tile
  alignas(16) float a[4 * kTiles + 4], b[4 * kTiles + 4], c[4 * kTiles + 4];
  for (int i = 0; i < 4 * kTiles + 4; ++i)
    a[i] = static_cast<float>(i), b[i] = static_cast<float>(1000 * i), c[i] = -1;
  float total = 0.5F;
  const Arguments arguments{{a, 4 * kTiles}, {b, 4 * kTiles}, {c, 4 * kTiles}, &total, kTiles, 2};
  flydsl::test::HostIds ids{{}, {}, {kBlock, 1, 1}, {kGrid, 1, 1}};
  for (ids.block[0] = 0; ids.block[0] < kGrid; ++ids.block[0])
    for (ids.thread[0] = 0; ids.thread[0] < kBlock; ++ids.thread[0])
      flydsl::test::callMade<void>(*found, static_cast<const void *>(&arguments),
                                   static_cast<const flydsl::test::HostIds *>(&ids));

  float expected = 0.5F;
  for (int i = 0; i < 4 * kTiles; ++i) {
    INFO(i);
    CHECK(c[i] == 1002.0F * static_cast<float>(i));
    if (i % 4 == 0)
      expected += c[i];
  }
  for (int i = 4 * kTiles; i < 4 * kTiles + 4; ++i)
    CHECK(c[i] == -1);
  CHECK(total == expected);
}
