#include "jit/binding/read_parameters.h"

#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/ValueCarriers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

#include <variant>

namespace flydsl::jit {
namespace {

using namespace mlir;

std::vector<detail::LeafType> leavesOf(const layout::IntTuple &tuple) {
  std::vector<detail::LeafType> leaves;
  for (const layout::Int &leaf : tuple.leaves())
    leaves.push_back(leaf.isDynamic() ? detail::LeafType{leaf.divisibility(), leaf.width()}
                                      : detail::LeafType{leaf.value(), 0});
  return leaves;
}

bool isPlain(const layout::IntTuple &tuple) {
  for (const layout::Int &leaf : tuple.leaves())
    if (leaf.isWildcard() || leaf.hasBasis())
      return false;
  return true;
}

void readTensor(fly::MemRefType type, Parameter &parameter) {
  const auto *plain = std::get_if<layout::Layout>(&type.getLayout());
  parameter.dtype = fly::dtypeOfElement(type.getElemTy());
  if (!plain || !parameter.dtype || !type.isIn(fly::AddressSpace::Global) ||
      !isPlain(plain->shape()) || !isPlain(plain->stride()))
    return;
  parameter.kind = Parameter::Kind::tensor;
  parameter.alignment = type.getAlignment();
  parameter.shape = leavesOf(plain->shape());
  parameter.stride = leavesOf(plain->stride());
}

} // namespace

Parameter readParameter(Type type) {
  Parameter parameter;
  parameter.type = fly::typeText(type);
  if (isa<gpu::AsyncTokenType>(type)) {
    parameter.kind = Parameter::Kind::stream;
  } else if (auto memref = dyn_cast<fly::MemRefType>(type)) {
    readTensor(memref, parameter);
  } else if (auto pointer = dyn_cast<fly::PointerType>(type)) {
    parameter.dtype = fly::dtypeOfElement(pointer.getElemTy());
    parameter.alignment = pointer.getAlignment();
    if (pointer.isIn(fly::AddressSpace::Global))
      parameter.kind = Parameter::Kind::pointer;
  } else if (auto raw = dyn_cast<LLVM::LLVMPointerType>(type)) {
    if (raw.getAddressSpace() <= 1) // generic or global
      parameter.kind = Parameter::Kind::pointer;
  } else if (fly::isCarried(type)) {
    if (fly::carrierTypes(type).empty())
      parameter.kind = Parameter::Kind::nothing;
  } else if (parameter.dtype = fly::dtypeOfElement(type);
             parameter.dtype && (parameter.dtype.bits() % 8 == 0 || parameter.dtype == boolean)) {
    parameter.kind = Parameter::Kind::scalar;
  }
  return parameter;
}

std::vector<Parameter> readParameters(TypeRange types) {
  std::vector<Parameter> parameters;
  for (Type type : types)
    parameters.push_back(readParameter(type));
  return parameters;
}

} // namespace flydsl::jit
