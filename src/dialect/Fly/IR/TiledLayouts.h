// The tiled operations that types name, as src/layout computes with them.
#pragma once

#include "dialect/Fly/IR/FlyTypes.h"

#include "layout/tiled.h"

namespace mlir::fly {

/// The atom in values; one that moves whole tiles stands for one thread with one value.
flydsl::layout::CopyAtom toCopyAtom(CopyAtomType type);
flydsl::layout::TiledCopy toTiledCopy(TiledCopyType type);
flydsl::layout::MmaAtom toMmaAtom(MmaAtomType type);
flydsl::layout::TiledMma toTiledMma(TiledMmaType type);
flydsl::layout::MmaOperand toMmaOperand(MmaOperand operand);

} // namespace mlir::fly
