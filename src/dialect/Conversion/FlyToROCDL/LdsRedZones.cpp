//===- LdsRedZones.cpp - Arrays in LDS that the emulator tells apart ------===//
//
// A code object says how much LDS a kernel has, and not which arrays it holds, so an access past the
// end of one array lands in the next, and no check can name it. This pass, which only compiles for the
// emulator's check of memory have, appends a red zone to each array, and lets the kernel say at its
// start where arrays and zones lie (support/red_zones.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "support/red_zones.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fly {

#define GEN_PASS_DEF_LDSREDZONESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

namespace support = flydsl::support;

constexpr unsigned kSharedSpace = ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;

struct Array {
  uint64_t bytes = 0, zone = 0;
};

class RedZones {
public:
  RedZones(gpu::GPUModuleOp module, uint64_t zone) : module_(module), layout_(module) {
    for (auto global : module.getOps<LLVM::GlobalOp>())
      if (const uint64_t bytes = isArray(global) ? bytesOf(global) : 0) {
        arrays_[global] = {bytes, 0};
        alignment_ = std::max(alignment_, global.getAlignment().value_or(1));
      }
    for (auto &[global, array] : arrays_)
      append(global, array, zone);
  }

  /// Each function says at its start where the arrays lie whose addresses it takes.
  void mark() {
    module_.walk([&](FunctionOpInterface func) {
      if (func.isExternal())
        return;
      llvm::SmallSetVector<Operation *, 8> used;
      func.walk([&](LLVM::AddressOfOp address) {
        if (auto global = module_.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
            global && arrays_.contains(global))
          used.insert(global);
      });
      OpBuilder builder = OpBuilder::atBlockBegin(&func.getFunctionBody().front());
      for (Operation *global : used)
        mark(builder, cast<LLVM::GlobalOp>(global), arrays_[global]);
    });
  }

private:
  static bool isArray(LLVM::GlobalOp global) {
    // A named barrier has a type of its own, and no bytes.
    return global.getAddrSpace() == kSharedSpace && !global.getValueAttr() &&
           !isa<LLVM::LLVMTargetExtType>(global.getType()) && global.getInitializerRegion().empty();
  }
  uint64_t bytesOf(LLVM::GlobalOp global) const {
    return layout_.getTypeSize(global.getType()).getFixedValue();
  }

  void append(Operation *op, Array &array, uint64_t zone) const {
    auto global = cast<LLVM::GlobalOp>(op);
    const uint64_t all = support::withRedZone(array.bytes, zone, support::redZoneGrain(alignment_));
    array.zone = all - array.bytes;
    const Type byte = IntegerType::get(global.getContext(), 8);
    global.setGlobalType(LLVM::LLVMArrayType::get(byte, all));
  }

  static void mark(OpBuilder &builder, LLVM::GlobalOp global, const Array &array) {
    const Location loc = global.getLoc(); // where the program makes the array
    Value address = LLVM::AddressOfOp::create(builder, loc, global);
    address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
    const std::string text = "s_mul_i32 $0, $1, " + std::to_string(support::kArrayMark) +
                             "\ns_mov_b32 $0, " + std::to_string(array.bytes) + "\ns_mov_b32 $0, " +
                             std::to_string(array.zone);
    LLVM::InlineAsmOp::create(builder, loc, builder.getI32Type(), address, text, "=s,s",
                              /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                              ArrayAttr());
  }

  gpu::GPUModuleOp module_;
  DataLayout layout_;
  llvm::MapVector<Operation *, Array> arrays_;
  uint64_t alignment_ = 1; ///< the largest
};

struct LdsRedZones : impl::LdsRedZonesPassBase<LdsRedZones> {
  using Base::Base;
  void runOnOperation() override { RedZones(getOperation(), bytes).mark(); }
};

} // namespace

} // namespace mlir::fly
