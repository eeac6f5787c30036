// Questions about the table of matrix instructions.
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "dialect/Fly/IR/ElementTypes.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "layout/error.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <optional>

namespace layout = flydsl::layout;

namespace mlir::fly_rocdl {

using fly::dtypeOfElement;
using fly::elementType;
using fly::typeText;
using flydsl::DType;
using flydsl::Family;
using flydsl::Feature;
using flydsl::Target;

Type Registers::in(MLIRContext *context) const {
  Type type = elementType(element, context);
  return count == 1 ? type : VectorType::get({count}, type);
}

int mxFormat(DType element) {
  const auto *at = std::find(kMxFormats.begin(), kMxFormats.end(), element);
  return at == kMxFormats.end() ? -1 : static_cast<int>(at - kMxFormats.begin());
}
int mxFormat(Type element) { return mxFormat(dtypeOfElement(element)); }

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

static std::string shapeText(int m, int n, int k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

static layout::Layout layoutOf(const MatrixInstruction &row, const ThreadValues &tv) {
  if (!tv.isKnown())
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
        tuple(part, std::span(tv.values).first(static_cast<std::size_t>(tv.valueModes))));
  };
  return layout::Layout(ofAll(&ThreadValues::Mode::size), ofAll(&ThreadValues::Mode::stride));
}

layout::Layout withRun(const MatrixInstruction &row, const ThreadValues &tv, int run) {
  if (!tv.isKnown())
    return layoutOf(row, tv); // which says so
  const int rows = tv.lanes[0].size, groups = tv.lanes[1].size;
  int perLane = 1;
  for (const ThreadValues::Mode &mode :
       std::span(tv.values).first(static_cast<std::size_t>(tv.valueModes)))
    perLane *= mode.size;
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

Registers fragmentC(const MatrixInstruction &row) {
  const bool isHalfUsed = row.family == MatrixFamily::GFX11 && row.acc.bits() == 16;
  return {row.registersC.element, row.registersC.count / (isHalfUsed ? 2 : 1)};
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

MatrixFamily denseFamilyOf(const Target &target) {
  switch (target.family()) {
  case Family::cdna2:
  case Family::cdna3:
  case Family::cdna4:
  case Family::other: // of which no row of MFMA is
    return MatrixFamily::MFMA;
  case Family::rdna3:
    return MatrixFamily::GFX11;
  case Family::rdna4:
    return MatrixFamily::GFX120X;
  case Family::gfx1250:
    return MatrixFamily::GFX1250;
  }
  llvm_unreachable("a family of processors that the table of instructions does not know");
}

std::string rawName(const MatrixInstruction &row) {
  // The name of the sum's elements comes first.
  std::string name(row.name.substr(row.name.find(row.acc.name())));
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// The rows of a target's instructions without scales.
static auto denseRows(const Target &target) {
  return llvm::make_filter_range(
      matrixInstructions(),
      [family = denseFamilyOf(target), on = target.family()](const MatrixInstruction &row) {
        return row.family == family && row.isOn(on);
      });
}

const MatrixInstruction *findRaw(std::string_view name, const Target &target) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '.', '_');
  for (const MatrixInstruction &row : denseRows(target))
    if (rawName(row) == wanted)
      return &row;
  return nullptr;
}

const MatrixInstruction *findRawScaled(std::string_view name, DType a, DType b) {
  for (const MatrixInstruction &row : matrixInstructions())
    if (row.family == MatrixFamily::MFMAScale && row.a == a && row.b == b && rawName(row) == name)
      return &row;
  return nullptr;
}

std::vector<std::string> rawNames(const Target &target) {
  std::vector<std::string> names;
  for (const MatrixInstruction &row : denseRows(target))
    names.push_back(rawName(row));
  return names;
}

std::vector<std::string> processorsWithRaw(std::string_view name, Feature feature) {
  std::vector<std::string> names;
  for (const Target &target : Target::all())
    if (target.has(feature) && findRaw(name, target))
      names.push_back(target.name());
  return names;
}

std::string offeredInstructions(MatrixFamily family, const Target &target) {
  std::vector<std::pair<std::string, std::string>> byTypes;
  for (const MatrixInstruction &row : matrixInstructions()) {
    if (row.family != family || !row.isAtom() || (target && !row.isOn(target.family())))
      continue;
    std::string types = std::string(row.a.name()) + ", " + std::string(row.b.name()) + " -> " +
                        std::string(row.acc.name());
    std::string shape = shapeText(row.m, row.atomN(), row.k);
    auto found = llvm::find_if(byTypes, [&](const auto &p) { return p.first == types; });
    if (found != byTypes.end())
      found->second += ", " + shape;
    else
      byTypes.emplace_back(types, shape);
  }
  std::string text;
  for (const auto &[types, shapes] : byTypes)
    text += (text.empty() ? "" : "; ") + types + ": " + shapes;
  return text;
}

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
