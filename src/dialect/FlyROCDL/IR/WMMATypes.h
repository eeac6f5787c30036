// The register layouts of WMMA, wave32. Tiles are column-major: (M,K) for A, (N,K) for B, (M,N) for
// C and D.
#pragma once

#include "layout/layout.h"

#include <cstdint>

namespace mlir::fly_rocdl {

/// RDNA4 and gfx1250, A and B of 16 rows: lane l holds row l % 16, and of K the runs of eight that
/// belong to its half of the wave: value v is at K = (v / 8) * 16 + (l / 16) * 8 + v % 8. Operands
/// of 32 bits hold one run of K / 2 per half. Source: FlyDSL's lib/Dialect/FlyROCDL/GFX1250. AMD's
/// matrix instruction calculator names other K for RDNA4's 16-bit and 4-bit operands, A's and B's
/// alike, which changes no product.
flydsl::layout::Layout wmmaOperandLayout(int64_t k, unsigned elementBits);
/// RDNA4 and gfx1250, C and D of 16x16: lane l holds column l % 16 and of it the rows (l / 16) * 8
/// + v.
flydsl::layout::Layout wmmaResultLayout();

} // namespace mlir::fly_rocdl
