//===- Ktrace.cpp - Marks and ranges of a kernel --------------------------===//
//
// An event is a record in a buffer, the kernel's last argument, whose layout is that of
// support/ktrace_record.h. The region of a wave follows from the numbers of its block and of the
// wave in it, so that waves do not contend for places. How many records a wave has written is
// counted in LDS, once for all its lanes: a count in a register would be lost for the lanes that a
// branch left out. The first active lane writes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "support/ktrace_record.h"
#include "target/processors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fly {

#define GEN_PASS_DEF_LOWERKTRACEPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace record = flydsl::support::ktrace;
using flydsl::Family;
using flydsl::detail::Processor;
using namespace fly_ktrace;

namespace {

/// The operand of s_getreg for all bits of a hardware register: its number, the first bit, and the
/// number of bits less 1 (LLVM, AMDGPUUsage, hwreg).
constexpr int32_t wholeRegister(int32_t number, int32_t bits = 32) {
  return number | (bits - 1) << 11;
}

/// Arithmetic at one place.
class Emit {
public:
  Emit(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  Value i32(int64_t v) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v)); }
  template <class Op> Value op(Value x, Value y) { return b.createOrFold<Op>(loc, x, y); }
  Value add(Value x, Value y) { return op<arith::AddIOp>(x, y); }
  Value mul(Value x, Value y) { return op<arith::MulIOp>(x, y); }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
  }
  Value intrinsic(StringRef name, Type result, ValueRange arguments = {}) {
    return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name), arguments)
        ->getResult(0);
  }
  Value uniform(Value v) { return ROCDL::ReadfirstlaneOp::create(b, loc, v.getType(), v); }
  Value byteOffset(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer, bytes,
                               LLVM::GEPNoWrapFlags::inbounds);
  }
  Value constantOffset(Value pointer, int32_t bytes) {
    return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes}, LLVM::GEPNoWrapFlags::inbounds);
  }
  /// A field of the header, which nobody writes while the kernel runs.
  Value headerField(Value buffer, size_t offset) {
    auto load = LLVM::LoadOp::create(b, loc, b.getI32Type(),
                                     constantOffset(buffer, static_cast<int32_t>(offset)), 4);
    load.setInvariant(true);
    return load;
  }
  template <class Id> Value id(gpu::Dimension dimension) {
    Value index = Id::create(b, loc, dimension);
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), index);
  }
  /// The number of something that is counted in three dimensions, x fastest.
  template <class Id, class Extent> Value linear() {
    using gpu::Dimension;
    Value number = id<Id>(Dimension::z);
    number = add(mul(number, id<Extent>(Dimension::y)), id<Id>(Dimension::y));
    return add(mul(number, id<Extent>(Dimension::x)), id<Id>(Dimension::x));
  }

  OpBuilder &b;
  Location loc;
};

/// The numbers of the names of a module's events, in the order of their first appearance.
class Names {
public:
  uint32_t numberOf(StringAttr name) {
    return numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  bool empty() const { return numbers_.empty(); }
  std::string text() const {
    std::string all;
    for (const auto &[name, number] : numbers_) {
      all += name.getValue();
      all += '\0';
    }
    return all;
  }

private:
  llvm::MapVector<StringAttr, uint32_t> numbers_;
};

/// One kernel: what is computed at its start, and its records.
class Kernel {
public:
  Kernel(gpu::GPUFuncOp function, LLVM::GlobalOp counts, const Processor &processor, Names &names)
      : buffer_(function.getArguments().back()), processor_(processor), names_(names) {
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    Emit e(builder, function.getLoc());
    limit_ = e.headerField(buffer_, offsetof(record::Header, recordsPerWave));
    Value firstBlock = e.headerField(buffer_, offsetof(record::Header, firstBlock)),
          blockCount = e.headerField(buffer_, offsetof(record::Header, blockCount)),
          wavesPerBlock = e.headerField(buffer_, offsetof(record::Header, wavesPerBlock));
    Value block = e.op<arith::SubIOp>(e.linear<gpu::BlockIdOp, gpu::GridDimOp>(), firstBlock);
    records_ = e.less(block, blockCount);
    Value thread = e.linear<gpu::ThreadIdOp, gpu::BlockDimOp>();
    Value wave = e.uniform(e.op<arith::DivUIOp>(thread, e.i32(processor.waveSize)));
    auto wide = [&](Value v) -> Value {
      return arith::ExtUIOp::create(builder, e.loc, builder.getI64Type(), v);
    };
    Value place = e.mul(wide(e.add(e.mul(block, wavesPerBlock), wave)), wide(limit_));
    place = e.mul(place, arith::ConstantOp::create(
                             builder, e.loc, builder.getI64IntegerAttr(sizeof(record::Record))));
    region_ = e.byteOffset(e.constantOffset(buffer_, sizeof(record::Header)), place);
    counter_ = e.byteOffset(LLVM::AddressOfOp::create(builder, e.loc, counts),
                            e.mul(wave, e.i32(sizeof(uint32_t))));
    auto clear = scf::IfOp::create(builder, e.loc, isFirstLane(e));
    OpBuilder inner = clear.getThenBodyBuilder();
    Emit within(inner, e.loc);
    LLVM::StoreOp::create(inner, e.loc, within.i32(0), counter_, 4);
  }

  /// A token is a number by now (makeTokensNumbers), which the operations' own accessors do not take.
  void lower(Operation *op) {
    OpBuilder builder(op);
    Emit e(builder, op->getLoc());
    llvm::TypeSwitch<Operation *>(op)
        .Case<MarkOp>([&](auto o) { write(e, record::Kind::mark, o.getEventNameAttr(), o); })
        .Case<RangePushOp>(
            [&](auto o) { write(e, record::Kind::rangePush, o.getEventNameAttr(), o); })
        .Case<RangePopOp>([&](auto o) { write(e, record::Kind::rangePop, nullptr, o); })
        .Case<RangeStartOp>([&](auto o) {
          o->getResult(0).replaceAllUsesWith(
              write(e, record::Kind::rangeStart, o.getEventNameAttr(), o));
        })
        .Case<RangeStopOp>([&](auto o) {
          const Value token = o.getTokenMutable().get();
          Value isOpen =
              arith::CmpIOp::create(builder, e.loc, arith::CmpIPredicate::ne, token, e.i32(0));
          auto branch = scf::IfOp::create(builder, e.loc, isOpen);
          OpBuilder inner = branch.getThenBodyBuilder();
          Emit within(inner, e.loc);
          write(within, record::Kind::rangeStop, o.getEventNameAttr(), o, token);
        })
        .Case<InactiveTokenOp>([&](auto o) { o->getResult(0).replaceAllUsesWith(e.i32(0)); });
    op->erase();
  }

private:
  /// Whether this lane is the first active one: no active lane is below it.
  Value isFirstLane(Emit &e) {
    Type word = e.b.getI32Type(), mask = e.b.getIntegerType(processor_.waveSize);
    Value yes = arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(true));
    Value active = ROCDL::BallotOp::create(e.b, e.loc, mask, yes), low = active, high;
    if (processor_.waveSize == 64) {
      Value shift = arith::ConstantOp::create(e.b, e.loc, e.b.getI64IntegerAttr(32));
      low = arith::TruncIOp::create(e.b, e.loc, word, active);
      high = arith::TruncIOp::create(e.b, e.loc, word, e.op<arith::ShRUIOp>(active, shift));
    }
    Value below = e.intrinsic("llvm.amdgcn.mbcnt.lo", word, {low, e.i32(0)});
    if (high)
      below = e.intrinsic("llvm.amdgcn.mbcnt.hi", word, {high, below});
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, below, e.i32(0));
  }

  /// Emits `then`'s value where the condition holds, else 0.
  template <class Then> Value ifElseZero(Emit &e, Value condition, Then then) {
    auto branch = scf::IfOp::create(e.b, e.loc, e.b.getI32Type(), condition,
                                    /*withElseRegion=*/true);
    OpBuilder inner = branch.getThenBodyBuilder(), other = branch.getElseBodyBuilder();
    Emit within(inner, e.loc), outside(other, e.loc);
    scf::YieldOp::create(inner, e.loc, then(within));
    scf::YieldOp::create(other, e.loc, outside.i32(0));
    return branch.getResult(0);
  }

  /// Emits one record. Gives its number in the region plus 1, the same for all lanes, or 0 where
  /// the block does not record.
  template <class Op>
  Value write(Emit &e, record::Kind kind, StringAttr name, Op op, Value start = {}) {
    const uint32_t event =
        ((name ? names_.numberOf(name) : 0) + 1) | static_cast<uint32_t>(kind) << record::kKindBit |
        static_cast<uint32_t>(*record::payloadTypeOf(op.getPayloadType()))
            << record::kPayloadTypeBit |
        static_cast<uint32_t>(op.getPayload() != nullptr) << record::kHasPayloadBit;
    Value clock = e.intrinsic("llvm.readsteadycounter", e.b.getI64Type());
    return ifElseZero(e, records_, [&](Emit &e) {
      Value number = ifElseZero(e, isFirstLane(e), [&](Emit &e) {
        Value place =
            LLVM::AtomicRMWOp::create(e.b, e.loc, LLVM::AtomicBinOp::add, counter_, e.i32(1),
                                      LLVM::AtomicOrdering::monotonic, "wavefront");
        auto fits = scf::IfOp::create(e.b, e.loc, e.less(place, limit_), /*withElseRegion=*/true);
        OpBuilder inner = fits.getThenBodyBuilder(), other = fits.getElseBodyBuilder();
        Emit within(inner, e.loc), outside(other, e.loc);
        store(within, place, clock, op.getPayload(), event, start);
        LLVM::AtomicRMWOp::create(
            other, e.loc, LLVM::AtomicBinOp::add,
            outside.constantOffset(buffer_, offsetof(record::Header, dropped)), outside.i32(1),
            LLVM::AtomicOrdering::monotonic, "agent");
        return e.add(place, e.i32(1));
      });
      return e.uniform(number);
    });
  }

  void store(Emit &e, Value place, Value clock, Value payload, uint32_t event, Value start) {
    Value at = e.byteOffset(region_, e.mul(place, e.i32(sizeof(record::Record))));
    auto put = [&](size_t offset, Value value) {
      LLVM::StoreOp::create(e.b, e.loc, value, e.constantOffset(at, static_cast<int32_t>(offset)),
                            4);
    };
    put(offsetof(record::Record, clock), clock);
    if (payload)
      put(offsetof(record::Record, payload), payload);
    put(offsetof(record::Record, hardwareId), hardwareRegister(e, hardwareIdRegister()));
    if (std::optional<int32_t> die = dieRegister())
      put(offsetof(record::Record, die), hardwareRegister(e, *die));
    if (start)
      put(offsetof(record::Record, start), start);
    put(offsetof(record::Record, event), e.i32(static_cast<int32_t>(event)));
  }

  Value hardwareRegister(Emit &e, int32_t hwreg) {
    return e.intrinsic("llvm.amdgcn.s.getreg", e.b.getI32Type(), e.i32(hwreg));
  }
  /// HW_ID of CDNA (4), HW_ID1 of RDNA and gfx1250 (23): LLVM, AMDGPUAsmUtils.cpp.
  int32_t hardwareIdRegister() const {
    switch (processor_.family) {
    case Family::cdna2:
    case Family::cdna3:
    case Family::cdna4:
      return wholeRegister(4);
    default:
      return wholeRegister(23);
    }
  }
  /// XCC_ID (20), whose low four bits are the die's number.
  std::optional<int32_t> dieRegister() const {
    if (processor_.family == Family::cdna3 || processor_.family == Family::cdna4)
      return wholeRegister(20, 4);
    return std::nullopt;
  }

  Value buffer_;
  const Processor &processor_;
  Names &names_;
  Value limit_, records_, region_, counter_;
};

bool isEvent(Operation *op) { return isa<FlyKtraceDialect>(op->getDialect()); }

/// Tokens are numbers from here on, wherever control flow carries them.
void makeTokensNumbers(Operation *root) {
  Type word = IntegerType::get(root->getContext(), 32);
  auto convert = [&](Value value) {
    if (isa<TokenType>(value.getType()))
      value.setType(word);
  };
  root->walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), convert);
  });
}

struct LowerKtrace : impl::LowerKtracePassBase<LowerKtrace> {
  using LowerKtracePassBase::LowerKtracePassBase;

  void runOnOperation() override {
    SmallVector<gpu::GPUModuleOp> modules;
    getOperation()->walk([&](gpu::GPUModuleOp module) { modules.push_back(module); });
    for (gpu::GPUModuleOp module : modules)
      if (failed(lowerModule(module)))
        return signalPassFailure();
  }

private:
  LogicalResult lowerModule(gpu::GPUModuleOp module) {
    llvm::MapVector<Operation *, SmallVector<Operation *>> events;
    module->walk([&](Operation *op) {
      if (isEvent(op))
        events[op->getParentOfType<FunctionOpInterface>()].push_back(op);
    });
    if (events.empty())
      return success();
    const Processor *processor = flydsl::detail::findProcessor(chipset.getValue());
    if (!processor)
      return module->emitError("needs to know the processor: unknown chipset '")
             << chipset << "'; known: " << flydsl::detail::processorNames();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    Location loc = module.getLoc();
    auto counts = global(builder, loc,
                         LLVM::LLVMArrayType::get(builder.getI32Type(), record::kMaxWavesPerBlock),
                         "__flydsl_ktrace_counts", Attribute(), kSharedSpace);
    Names names;
    makeTokensNumbers(module);
    for (auto &[function, ops] : events)
      if (failed(lower(function, ops, counts, *processor, names)))
        return failure();
    const std::string text = names.text();
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
    auto list = global(builder, loc, bytes, StringRef(record::kNamesSymbol),
                       builder.getStringAttr(text), kConstantSpace);
    list.setConstant(true);
    list.setVisibility_(LLVM::Visibility::Protected);
    return success();
  }

  static constexpr unsigned kSharedSpace = ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
  static constexpr unsigned kConstantSpace = 4; // LLVM, AMDGPUUsage, address spaces

  static LLVM::GlobalOp global(OpBuilder &builder, Location loc, Type type, StringRef name,
                               Attribute value, unsigned space) {
    auto made =
        LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false, LLVM::Linkage::External,
                               name, value, /*alignment=*/4, space);
    made.setDsoLocal(true);
    return made;
  }

  static LogicalResult lower(Operation *function, ArrayRef<Operation *> events,
                             LLVM::GlobalOp counts, const Processor &processor, Names &names) {
    auto kernel = dyn_cast_or_null<gpu::GPUFuncOp>(function);
    if (!kernel || !kernel.isKernel())
      return events.front()->emitOpError("stands in a function that is no kernel; events are "
                                         "recorded by kernels alone");
    auto pointer = kernel.getNumArguments() == 0
                       ? LLVM::LLVMPointerType()
                       : dyn_cast<LLVM::LLVMPointerType>(kernel.getArgumentTypes().back());
    if (!pointer || pointer.getAddressSpace() != ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace)
      return events.front()->emitOpError(
                 "records into the kernel's last argument, which must be a pointer into global "
                 "memory (!fly.ptr<i8, global>); the kernel ")
             << kernel.getName() << " has no such argument";
    Kernel lowering(kernel, counts, processor, names);
    for (Operation *op : events)
      lowering.lower(op);
    return success();
  }
};

} // namespace

} // namespace mlir::fly
