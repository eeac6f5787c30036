//===- LdsAliasScopes.cpp - Loads into LDS that write to different places --===//
//
// LLVM waits for a load into LDS before anything reads the LDS that the load may write. What lies
// in different variables it tells apart by itself. Of one variable, such as dynamic shared memory
// or an overlay, it would wait for all loads before each read.
//
// This pass finds the bytes that each access may touch, by the ranges of the arithmetic that leads
// to its address. Accesses whose bytes overlap, directly or by way of others, become a scope;
// different scopes have no byte in common, and the accesses say so by alias metadata.
//
// The bytes of a load into LDS are those at the address of each lane, at which the author of the
// kernel promises to have the lane's data.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

namespace mlir::fly {

#define GEN_PASS_DEF_LDSALIASSCOPESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

/// Each access lists the scopes that it is not in. More of them than this are left out.
constexpr size_t kMostScopes = 64;
/// What a lane of a load into LDS writes at least: a smaller value is extended.
constexpr int64_t kLeastBytes = 4;
/// No LDS is larger, and sums of offsets below do not wrap.
constexpr int64_t kFarAway = int64_t(1) << 40;

/// Bytes from the start of a variable; `end` is behind the last.
struct Bytes {
  int64_t begin = 0, end = 0;

  bool isBounded() const { return begin > -kFarAway && end < kFarAway; }
  Bytes plus(Bytes other) const { return {begin + other.begin, end + other.end}; }
};

struct Access {
  LLVM::AliasAnalysisOpInterface op;
  Bytes bytes;
};

/// The accesses of one variable in one function.
struct Variable {
  std::vector<Access> accesses;
  bool hasLoadIntoLds = false;
  /// There are uses beside the accesses, or accesses that could be anywhere.
  bool isOpen = false;
};

class Accesses {
public:
  explicit Accesses(Operation *func) : layout_(DataLayout::closest(func)) {
    func->walk([&](LLVM::AddressOfOp op) {
      if (op.getType().getAddressSpace() == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace)
        follow(op, {0, 0}, variables_[op.getGlobalNameAttr()]);
    });
  }

  void forEach(llvm::function_ref<void(Variable &)> fn) {
    for (auto &entry : variables_)
      fn(entry.second);
  }

private:
  int64_t sizeOf(Type type) const {
    return static_cast<int64_t>(layout_.getTypeSize(type).getFixedValue());
  }

  /// Adds what uses a pointer to one of the bytes from `at.begin` to `at.end`.
  void follow(Value pointer, Bytes at, Variable &variable) {
    for (OpOperand &use : pointer.getUses()) {
      Operation *op = use.getOwner();
      if (auto element = dyn_cast<LLVM::GEPOp>(op)) {
        if (std::optional<Bytes> offset = offsetOf(element))
          follow(element, at.plus(*offset), variable);
        else
          variable.isOpen = true;
      } else if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
        add(op, at, sizeOf(load.getType()), variable);
      } else if (auto store = dyn_cast<LLVM::StoreOp>(op);
                 store && store.getAddr() == pointer && store.getValue() != pointer) {
        add(op, at, sizeOf(store.getValue().getType()), variable);
      } else if (auto dma = dyn_cast<ROCDL::RawPtrBufferLoadLdsOp>(op)) {
        const auto size = constantValue(dma.getSize()), offset = constantValue(dma.getOffset());
        variable.hasLoadIntoLds = true;
        if (size && offset)
          add(op, at.plus({*offset, *offset}), std::max(*size, kLeastBytes), variable);
        else
          variable.isOpen = true;
      } else if (auto dma = dyn_cast<ROCDL::GlobalLoadLDSOp>(op)) {
        const int64_t offset = dma.getOffset();
        variable.hasLoadIntoLds = true;
        add(op, at.plus({offset, offset}), std::max<int64_t>(dma.getSize(), kLeastBytes), variable);
      } else {
        variable.isOpen = true;
      }
    }
  }

  void add(Operation *op, Bytes at, int64_t size, Variable &variable) {
    at.end += size;
    auto access = cast<LLVM::AliasAnalysisOpInterface>(op);
    // IR that came with scopes keeps them.
    variable.isOpen |= !at.isBounded() || access.getAliasScopesOrNull();
    variable.accesses.push_back({access, at});
  }

  /// The bytes by which an address moves: one index, of elements of one type.
  std::optional<Bytes> offsetOf(LLVM::GEPOp element) const {
    if (element.getIndices().size() != 1)
      return std::nullopt;
    const int64_t size = sizeOf(element.getElemType());
    auto index = *element.getIndices().begin();
    flydsl::layout::ValueRange range;
    if (auto value = dyn_cast<Value>(index)) {
      range = factsOf(value)->range();
    } else {
      range.lo = range.hi = cast<IntegerAttr>(index).getInt();
    }
    if (range.lo < -kFarAway / size || range.hi > kFarAway / size)
      return std::nullopt;
    return Bytes{range.lo * size, range.hi * size};
  }

  const DataLayout layout_;
  llvm::MapVector<Attribute, Variable> variables_;
};

/// Sorts accesses, and gives the index at which each scope begins.
std::vector<size_t> scopesOf(std::vector<Access> &accesses) {
  llvm::sort(accesses,
             [](const Access &a, const Access &b) { return a.bytes.begin < b.bytes.begin; });
  std::vector<size_t> starts;
  int64_t end = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].bytes.begin >= end)
      starts.push_back(i);
    end = std::max(end, accesses[i].bytes.end);
  }
  return starts;
}

void separate(Variable &variable) {
  if (!variable.hasLoadIntoLds || variable.isOpen)
    return;
  const std::vector<size_t> starts = scopesOf(variable.accesses);
  if (starts.size() < 2 || starts.size() > kMostScopes)
    return;
  MLIRContext *context = variable.accesses.front().op->getContext();
  auto domain = LLVM::AliasScopeDomainAttr::get(context, StringAttr::get(context, "lds"));
  SmallVector<Attribute> scopes;
  for (size_t i = 0; i < starts.size(); ++i)
    scopes.push_back(LLVM::AliasScopeAttr::get(domain, StringAttr::get(context, "bytes")));
  for (size_t i = 0; i < starts.size(); ++i) {
    SmallVector<Attribute> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto own = ArrayAttr::get(context, scopes[i]), rest = ArrayAttr::get(context, others);
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : variable.accesses.size();
    for (size_t k = starts[i]; k < end; ++k) {
      variable.accesses[k].op.setAliasScopes(own);
      variable.accesses[k].op.setNoAliasScopes(rest);
    }
  }
}

struct LdsAliasScopes : impl::LdsAliasScopesPassBase<LdsAliasScopes> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp func) { Accesses(func).forEach(separate); });
  }
};

} // namespace

} // namespace mlir::fly
