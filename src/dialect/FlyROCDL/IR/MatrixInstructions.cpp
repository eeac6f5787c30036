// The rows of the matrix instructions as types, atoms and layouts.
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "layout/error.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>
#include <span>

namespace layout = flydsl::layout;

namespace mlir::fly_rocdl {

using fly::dtypeOfElement;
using fly::elementType;
using fly::typeText;
using flydsl::DType;
using flydsl::Feature;
using flydsl::Target;
using flydsl::detail::denseFamilyOf;
using flydsl::detail::matrixInstructions;
using flydsl::detail::offeredInstructions;
using flydsl::detail::shapeText;

Type registerType(const Registers &registers, MLIRContext *context) {
  Type type = elementType(registers.element, context);
  return registers.count == 1 ? type : VectorType::get({registers.count}, type);
}

int mxFormat(Type element) { return flydsl::detail::mxFormat(dtypeOfElement(element)); }

const MatrixInstruction *findMatrixInstruction(MatrixFamily family, int m, int n, int k, Type a,
                                               Type b, Type acc, int scaleBlock) {
  const DType elementA = dtypeOfElement(a), elementB = dtypeOfElement(b),
              elementAcc = dtypeOfElement(acc);
  for (const MatrixInstruction &row : matrixInstructions())
    if (row.family == family && row.isAtom() && row.m == m && row.atomN() == n && row.k == k &&
        row.a == elementA && row.b == elementB && row.acc == elementAcc &&
        row.scaleBlock == scaleBlock)
      return &row;
  return nullptr;
}

static layout::Layout layoutOf(const MatrixInstruction &row, const ThreadValues &tv) {
  if (!tv.is_known())
    layout::fail("the thread-value layout of the " + shapeText(row.m, row.atomN(), row.k) +
                 (row.scaleBlock ? " scaled" : "") +
                 " WMMA is not known; arrange its fragments by "
                 "hand and call the atom directly");
  const auto tuple = [](auto part, std::span<const ThreadValues::Mode> modes) {
    if (modes.size() == 1)
      return layout::IntTuple(modes.front().*part);
    std::vector<layout::IntTuple> elements;
    for (const ThreadValues::Mode &mode : modes)
      elements.emplace_back(mode.*part);
    return layout::IntTuple::tuple(std::move(elements));
  };
  const auto ofAll = [&](auto part) {
    return layout::tup(
        tuple(part, tv.lanes),
        tuple(part, std::span(tv.values).first(static_cast<std::size_t>(tv.value_modes))));
  };
  return layout::Layout(ofAll(&ThreadValues::Mode::size), ofAll(&ThreadValues::Mode::stride));
}

layout::Layout withRun(const MatrixInstruction &row, const ThreadValues &tv, int run) {
  if (!tv.is_known())
    return layoutOf(row, tv); // which says so
  const int rows = tv.lanes[0].size, groups = tv.lanes[1].size;
  const int perLane = tv.value_count();
  using layout::tup;
  const layout::IntTuple lanes = tup(rows, groups), laneStrides = tup(1, rows * run);
  if (run == perLane)
    return layout::Layout(tup(lanes, run), tup(laneStrides, rows));
  return layout::Layout(tup(lanes, tup(run, perLane / run)),
                        tup(laneStrides, tup(rows, rows * run * groups)));
}

layout::Layout lanesOf(const MatrixInstruction &row) { return layout::Layout(row.lanes(), 1); }
layout::Layout layoutA(const MatrixInstruction &row) { return layoutOf(row, row.layoutA); }
layout::Layout layoutB(const MatrixInstruction &row) { return layoutOf(row, row.layoutB); }
layout::Layout layoutC(const MatrixInstruction &row) { return layoutOf(row, row.layoutC); }

/// The feature that the instruction of a copy needs; none if every target has it.
static std::optional<Feature> featureOf(Type type) {
  using Needed = std::optional<Feature>;
  return llvm::TypeSwitch<Type, Needed>(type)
      .Case([](CopyOpCDNA4LdsReadTransposeType) -> Needed { return Feature::lds_transpose_read; })
      .Case<CopyOpCDNA4BufferLoadAsyncLDSType, CopyOpCDNA4GlobalLoadAsyncLDSType>(
          [](auto) -> Needed { return Feature::buffer_to_lds_wide; })
      .Case([](CopyOpCDNA3BufferCopyLDSType t) -> Needed {
        return t.getBitSize() == 32 ? Feature::buffer_to_lds : Feature::buffer_to_lds_wide;
      })
      .Case([](CopyOpGFX1250TDMType) -> Needed { return Feature::tensor_mover; })
      .Default([](Type) -> Needed { return std::nullopt; });
}

std::string missingOn(Type instruction, const Target &target) {
  std::optional<Feature> needed;
  if (auto matrix = dyn_cast<MatrixOpTypeInterface>(instruction)) {
    const MatrixInstruction &row = matrix.row();
    if (row.isOn(target.family()))
      return "";
    if (!row.scaleBlock)
      return typeText(instruction) + " is not on " + target.name() + ", which has these " +
             (target.has(Feature::mfma) ? "MFMA" : "WMMA") + ": " +
             offeredInstructions(denseFamilyOf(target), target);
    needed = row.feature;
  } else {
    needed = featureOf(instruction);
  }
  if (!needed || target.has(*needed))
    return "";
  return typeText(instruction) + " is not on " + target.name() + ", but on " +
         flydsl::detail::processorsWith(*needed);
}

} // namespace mlir::fly_rocdl
