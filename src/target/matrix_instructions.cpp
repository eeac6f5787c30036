// Questions about the table of matrix instructions.
#include "target/matrix_instructions.h"

#include <algorithm>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

int mxFormat(DType element) {
  const auto *at = std::find(kMxFormats.begin(), kMxFormats.end(), element);
  return at == kMxFormats.end() ? -1 : static_cast<int>(at - kMxFormats.begin());
}

Registers fragmentC(const MatrixInstruction &row) {
  const bool isHalfUsed = row.family == MatrixFamily::GFX11 && row.acc.bits() == 16;
  return {row.registersC.element, row.registersC.count / (isHalfUsed ? 2 : 1)};
}

MatrixFamily denseFamilyOf(const Target &target) {
  switch (target.family()) {
  case Family::cdna2:
  case Family::cdna3:
  case Family::cdna4:
  case Family::other: // no row of MFMA is on one
    break;
  case Family::rdna3:
    return MatrixFamily::GFX11;
  case Family::rdna4:
    return MatrixFamily::GFX120X;
  case Family::gfx1250:
    return MatrixFamily::GFX1250;
  }
  return MatrixFamily::MFMA;
}

std::string rawName(const MatrixInstruction &row) {
  // The name of the sum's elements comes first.
  std::string name(row.name.substr(row.name.find(row.acc.name())));
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// Calls `use` with each row of a target's instructions without scales until it says true; gives
/// that row, or null.
template <class F> static const MatrixInstruction *findDense(const Target &target, F use) {
  const MatrixFamily family = denseFamilyOf(target);
  for (const MatrixInstruction &row : matrixInstructions())
    if (row.family == family && row.isOn(target.family()) && use(row))
      return &row;
  return nullptr;
}

const MatrixInstruction *findRaw(std::string_view name, const Target &target) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '.', '_');
  return findDense(target, [&](const MatrixInstruction &row) { return rawName(row) == wanted; });
}

const MatrixInstruction *findRawScaled(std::string_view name, DType a, DType b) {
  for (const MatrixInstruction &row : matrixInstructions())
    if (row.family == MatrixFamily::MFMAScale && row.a == a && row.b == b && rawName(row) == name)
      return &row;
  return nullptr;
}

std::vector<std::string> rawNames(const Target &target) {
  std::vector<std::string> names;
  findDense(target, [&](const MatrixInstruction &row) {
    names.push_back(rawName(row));
    return false;
  });
  return names;
}

std::vector<std::string> processorsWithRaw(std::string_view name, Feature feature) {
  std::vector<std::string> names;
  for (const Target &target : Target::all())
    if (target.has(feature) && findRaw(name, target))
      names.push_back(target.name());
  return names;
}

std::string shapeText(int m, int n, int k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

std::string offeredInstructions(MatrixFamily family, const Target &target) {
  std::vector<std::pair<std::string, std::string>> byTypes;
  for (const MatrixInstruction &row : matrixInstructions()) {
    if (row.family != family || !row.isAtom() || (target && !row.isOn(target.family())))
      continue;
    std::string types = std::string(row.a.name()) + ", " + std::string(row.b.name()) + " -> " +
                        std::string(row.acc.name());
    std::string shape = shapeText(row.m, row.atomN(), row.k);
    const auto found = std::find_if(byTypes.begin(), byTypes.end(),
                                    [&](const auto &p) { return p.first == types; });
    if (found != byTypes.end())
      found->second += ", " + shape;
    else
      byTypes.emplace_back(std::move(types), std::move(shape));
  }
  std::string text;
  for (const auto &[types, shapes] : byTypes)
    text += (text.empty() ? "" : "; ") + types + ": " + shapes;
  return text;
}

} // namespace detail

namespace rocdl {

std::vector<MatrixProduct> matrix_products(const Target &target, DType a, DType b) {
  std::vector<MatrixProduct> all;
  const auto add = [&](const MatrixProduct &product) {
    const auto hasMore = [](const MatrixProduct &x, const MatrixProduct &y) { return x.k > y.k; };
    all.insert(std::upper_bound(all.begin(), all.end(), product, hasMore), product);
  };
  const Family family = target.family();
  for (const detail::MatrixInstruction &row : detail::matrixInstructions())
    if (row.isOn(family) && row.isAtom() && row.a == a && row.b == b)
      add({.target = target,
           .name = row.name,
           .feature = row.feature,
           .m = row.m,
           .n = row.atomN(),
           .k = row.k,
           .a = row.a,
           .b = row.b,
           .acc = row.acc,
           .scale_block = row.scaleBlock,
           .lanes = row.lanes(),
           .registers_a = row.registersA.bits() / 32,
           .registers_b = row.registersB.bits() / 32,
           .registers_c = detail::fragmentC(row).bits() / 32,
           .layout_a = row.layoutA,
           .layout_b = row.layoutB,
           .layout_c = row.layoutC});
  return all;
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
