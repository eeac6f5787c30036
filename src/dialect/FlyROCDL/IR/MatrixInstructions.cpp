// Sources: LLVM's definitions of the intrinsics (IntrinsicsAMDGPU.td) and of the targets' features
// (VOP3PInstructions.td); AMD's matrix instruction calculator. Instructions of several blocks and
// sparse ones have no atoms.
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "target/processors.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace mlir::fly_rocdl {

using flydsl::Family;
using flydsl::Feature;
using flydsl::Target;
using llvm::StringRef;
using Table = std::vector<MatrixInstruction>;

static std::string elementName(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return "i" + std::to_string(integer.getWidth());
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Shape {
  int32_t m, n, k;
  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

static void addMfma(Table &table) {
  constexpr unsigned all = kGfx90a | kGfx942 | kGfx950;
  auto add = [&](Shape s, const char *ab, const char *acc, const char *suffix, unsigned targets) {
    table.push_back({MatrixFamily::MFMA, s.m, s.n, s.k, ab, ab, acc,
                     std::string("mfma.") + acc + "." + s.text() + suffix, targets});
  };
  add({32, 32, 2}, "f32", "f32", "f32", all);
  add({16, 16, 4}, "f32", "f32", "f32", all);
  // Of f32 operands, whose products have the precision of XF32: 10 bits of mantissa.
  add({32, 32, 4}, "f32", "f32", ".xf32", kGfx942);
  add({16, 16, 8}, "f32", "f32", ".xf32", kGfx942);
  add({16, 16, 4}, "f64", "f64", "f64", all);
  add({32, 32, 8}, "f16", "f32", "f16", all);
  add({16, 16, 16}, "f16", "f32", "f16", all);
  add({32, 32, 16}, "f16", "f32", ".f16", kGfx950);
  add({16, 16, 32}, "f16", "f32", ".f16", kGfx950);
  add({32, 32, 4}, "bf16", "f32", "bf16", kGfx90a);
  add({16, 16, 8}, "bf16", "f32", "bf16", kGfx90a);
  add({32, 32, 8}, "bf16", "f32", "bf16.1k", all);
  add({16, 16, 16}, "bf16", "f32", "bf16.1k", all);
  add({32, 32, 16}, "bf16", "f32", ".bf16", kGfx950);
  add({16, 16, 32}, "bf16", "f32", ".bf16", kGfx950);
  add({32, 32, 8}, "i8", "i32", "i8", kGfx90a);
  add({16, 16, 16}, "i8", "i32", "i8", kGfx90a);
  add({32, 32, 16}, "i8", "i32", ".i8", kGfx942 | kGfx950);
  add({16, 16, 32}, "i8", "i32", ".i8", kGfx942 | kGfx950);
  add({32, 32, 32}, "i8", "i32", ".i8", kGfx950);
  add({16, 16, 64}, "i8", "i32", ".i8", kGfx950);
}

struct F8 {
  const char *type, *name;
};
/// The formats of gfx942, and OCP's.
static constexpr F8 kFnuz[] = {{"f8E4M3FNUZ", "fp8"}, {"f8E5M2FNUZ", "bf8"}};
static constexpr F8 kOcp[] = {{"f8E4M3FN", "fp8"}, {"f8E5M2", "bf8"}};

/// All pairs of two formats.
static void addF8(Table &table, MatrixFamily family, llvm::ArrayRef<F8> formats, Shape s,
                  const char *acc, unsigned targets = 0) {
  bool mfma = family == MatrixFamily::MFMA;
  for (const F8 &a : formats)
    for (const F8 &b : formats)
      table.push_back({family, s.m, s.n, s.k, a.type, b.type, acc,
                       std::string(mfma ? "mfma." : "wmma.") + acc + "." + s.text() + "." + a.name +
                           (mfma ? "." : "_") + b.name,
                       targets});
}

static void addWmma(Table &table) {
  auto add = [&](MatrixFamily family, int32_t k, const char *ab, const char *acc) {
    bool integer = ab[0] == 'i';
    std::string of = integer ? std::string("iu") + (ab + 1) : ab;
    Shape s{16, 16, k};
    table.push_back({family, s.m, s.n, s.k, ab, ab, acc,
                     std::string("wmma.") + acc + "." + s.text() + "." + of, 0});
  };
  for (MatrixFamily family : {MatrixFamily::GFX11, MatrixFamily::GFX120X}) {
    add(family, 16, "f16", "f32");
    add(family, 16, "bf16", "f32");
    add(family, 16, "f16", "f16");
    add(family, 16, "bf16", "bf16");
    add(family, 16, "i8", "i32");
    add(family, 16, "i4", "i32");
  }
  add(MatrixFamily::GFX120X, 32, "i4", "i32");
  addF8(table, MatrixFamily::GFX120X, kOcp, {16, 16, 16}, "f32");

  add(MatrixFamily::GFX1250, 4, "f32", "f32");
  add(MatrixFamily::GFX1250, 32, "f16", "f32");
  add(MatrixFamily::GFX1250, 32, "bf16", "f32");
  add(MatrixFamily::GFX1250, 32, "f16", "f16");
  add(MatrixFamily::GFX1250, 32, "bf16", "bf16");
  add(MatrixFamily::GFX1250, 32, "i4", "i32");
  add(MatrixFamily::GFX1250, 64, "i8", "i32");
  for (const char *acc : {"f32", "f16"})
    for (int32_t k : {64, 128})
      addF8(table, MatrixFamily::GFX1250, kOcp, {16, 16, k}, acc);
}

static const Table &table() {
  static const Table &made = *[] {
    auto *rows = new Table;
    addMfma(*rows);
    for (Shape s : {Shape{32, 32, 16}, Shape{16, 16, 32}}) {
      addF8(*rows, MatrixFamily::MFMA, kFnuz, s, "f32", kGfx942);
      addF8(*rows, MatrixFamily::MFMA, kOcp, s, "f32", kGfx950);
    }
    addWmma(*rows);
    return rows;
  }();
  return made;
}

const MatrixInstruction *findMatrixInstruction(MatrixFamily family, int32_t m, int32_t n, int32_t k,
                                               Type a, Type b, Type acc) {
  std::string nameA = elementName(a), nameB = elementName(b), nameAcc = elementName(acc);
  for (const MatrixInstruction &row : table())
    if (row.family == family && row.m == m && row.n == n && row.k == k && row.a == nameA &&
        row.b == nameB && row.acc == nameAcc)
      return &row;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// The bit of MfmaTarget; 0 for targets without MFMA.
static unsigned mfmaTarget(const Target &target) {
  switch (target.family()) {
  case Family::cdna2:
    return kGfx90a;
  case Family::cdna3:
    return kGfx942;
  case Family::cdna4:
    return kGfx950;
  case Family::rdna3:
  case Family::rdna4:
  case Family::gfx1250:
    return 0;
  }
  return 0;
}

static MatrixFamily matrixFamilyOf(const Target &target) {
  switch (target.family()) {
  case Family::cdna2:
  case Family::cdna3:
  case Family::cdna4:
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

/// "wmma.f32.16x16x16.fp8_bf8" is "f32_16x16x16_fp8_bf8".
static std::string wmmaName(const MatrixInstruction &row) {
  std::string name = row.name.substr(row.name.find('.') + 1);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

const MatrixInstruction *findWmma(StringRef name, const Target &target) {
  const MatrixFamily family = matrixFamilyOf(target);
  std::string wanted = name.str();
  std::replace(wanted.begin(), wanted.end(), '.', '_');
  if (target.has(Feature::wmma))
    for (const MatrixInstruction &row : table())
      if (row.family == family && wmmaName(row) == wanted)
        return &row;
  return nullptr;
}

std::vector<std::string> wmmaNames(const Target &target) {
  std::vector<std::string> names;
  if (target.has(Feature::wmma))
    for (const MatrixInstruction &row : table())
      if (row.family == matrixFamilyOf(target))
        names.push_back(wmmaName(row));
  return names;
}

std::vector<std::string> wmmaTargets(StringRef name) {
  std::vector<std::string> targets;
  for (const Target &target : Target::all())
    if (findWmma(name, target))
      targets.push_back(target.name());
  return targets;
}

WmmaRegisters wmmaRegisters(const MatrixInstruction &row, MLIRContext *context) {
  constexpr int64_t kWave = 32;
  const bool rdna3 = row.family == MatrixFamily::GFX11;
  auto registers = [&](const std::string &element, int64_t count) -> Type {
    Type type = parseType(element, context);
    const int64_t bits = type.getIntOrFloatBitWidth();
    if (bits < 16) {
      count = count * bits / 32;
      type = IntegerType::get(context, 32);
    } else if (type.isBF16() && row.family != MatrixFamily::GFX1250) {
      type = IntegerType::get(context, 16);
    }
    return count == 1 ? type : Type(VectorType::get({count}, type));
  };
  auto operand = [&](const std::string &element, int64_t rows) {
    return registers(element, rdna3 ? row.k : rows * row.k / kWave);
  };
  const bool half = rdna3 && (row.acc == "f16" || row.acc == "bf16");
  return {operand(row.a, row.m), operand(row.b, row.n),
          registers(row.acc, half ? 16 : int64_t(row.m) * row.n / kWave)};
}

std::string offeredInstructions(MatrixFamily family, const Target &target) {
  unsigned bit = target ? mfmaTarget(target) : ~0u;
  std::vector<std::pair<std::string, std::string>> byTypes;
  for (const MatrixInstruction &row : table()) {
    if (row.family != family || (row.targets && !(row.targets & bit)))
      continue;
    std::string types = row.a + ", " + row.b + " -> " + row.acc;
    std::string shape = Shape{row.m, row.n, row.k}.text();
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

static const char *familyName(MatrixFamily family) {
  return family == MatrixFamily::MFMA ? "MFMA" : "WMMA";
}

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The dense instruction of a type, if it is one.
struct Dense {
  MatrixFamily family;
  const MatrixInstruction *row;
};
static std::optional<Dense> dense(Type type) {
  auto of = [](MatrixFamily family, auto mma) {
    return Dense{family,
                 findMatrixInstruction(family, mma.getM(), mma.getN(), mma.getK(), mma.getElemTyA(),
                                       mma.getElemTyB(), mma.getElemTyAcc())};
  };
  return llvm::TypeSwitch<Type, std::optional<Dense>>(type)
      .Case([&](MmaOpCDNA3_MFMAType t) { return of(MatrixFamily::MFMA, t); })
      .Case([&](MmaOpGFX11_WMMAType t) { return of(MatrixFamily::GFX11, t); })
      .Case([&](MmaOpGFX120X_WMMAType t) { return of(MatrixFamily::GFX120X, t); })
      .Case([&](MmaOpGFX1250_WMMAType t) { return of(MatrixFamily::GFX1250, t); })
      .Default([](Type) { return std::nullopt; });
}

/// Of the other instructions, the feature that they need; nothing: every target has them.
static std::optional<Feature> featureOf(Type type) {
  using Needed = std::optional<Feature>;
  return llvm::TypeSwitch<Type, Needed>(type)
      .Case([](CopyOpCDNA4LdsReadTransposeType) -> Needed { return Feature::lds_transpose_read; })
      .Case<CopyOpCDNA4BufferLoadAsyncLDSType, CopyOpCDNA4GlobalLoadAsyncLDSType>(
          [](auto) -> Needed { return Feature::buffer_to_lds_wide; })
      .Case([](CopyOpCDNA3BufferCopyLDSType t) -> Needed {
        return t.getBitSize() == 32 ? Feature::buffer_to_lds : Feature::buffer_to_lds_wide;
      })
      .Case([](MmaOpCDNA4_MFMAScaleType) -> Needed { return Feature::mfma_scale; })
      .Case([](MmaOpGFX1250_WMMAScaleType) -> Needed { return Feature::wmma_scale; })
      .Case([](CopyOpGFX1250TDMType) -> Needed { return Feature::tensor_mover; })
      .Default([](Type) -> Needed { return std::nullopt; });
}

std::string missingOn(Type instruction, const Target &target) {
  const MatrixFamily family = matrixFamilyOf(target);
  if (std::optional<Dense> mma = dense(instruction)) {
    bool there = mma->family == family && mma->row &&
                 (!mma->row->targets || (mma->row->targets & mfmaTarget(target)));
    if (there)
      return "";
    return typeText(instruction) + " is not on " + target.name() + ", which has these " +
           familyName(family) + ": " + offeredInstructions(family, target);
  }
  const std::optional<Feature> needed = featureOf(instruction);
  if (!needed || target.has(*needed))
    return "";
  return typeText(instruction) + " is not on " + target.name() + ", but on " +
         flydsl::detail::processorsWith(*needed);
}

} // namespace mlir::fly_rocdl
