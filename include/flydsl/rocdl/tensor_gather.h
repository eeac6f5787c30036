// gfx1250: rows of a tensor, by their numbers, to LDS and back by the tensor data mover.
// flydsl/flydsl.h does not include it.
#pragma once

#include <flydsl/kernel/tensor.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// The numbers of the rows that a wave moves, in scalar registers of the wave: they are made once, and
/// several moves take them, such as those of a loop over columns.
struct TensorRows {
  std::vector<Int32> words; ///< one number each, or two where a number has 16 bits
  int count = 0;
  int index_bits = 32;
};

/// Lane i of each wave gives the number of its row i, for i below `count`, which is at most the
/// lanes of a wave. A number has `index_bits`: an instruction moves 8 rows whose numbers have 32
/// bits, or 16 whose numbers have 16 bits. With 16 bits, rows from 65,535 on are out of range. All
/// lanes of the wave must reach the call. Throws TraceError for other numbers of bits or of rows, and
/// for a target without the mover.
FLYDSL_API TensorRows tensor_rows(const Int32 &row_of_lane, int count, int index_bits = 32,
                                  Loc loc = Loc::current());

/// gfx1250: each wave that gets here copies rows of `tensor`, in global memory, to `lds`, in shared
/// memory: row i of `lds` gets row `rows[i]`, from column `tile` times the columns of `lds` on. A row
/// may be named more than once. Columns outside of the tensor become zeros. A wave issues an
/// instruction for every 8 or 16 rows, whatever lanes are on; `tensor_moves` says how many. Waits and
/// barriers are those of `tensor_load_to_lds`, whose moves and these end in the order in which they
/// were issued.
///
/// All rows exist in the tensor. AMD's manual defines what numbers out of range do in ascending order
/// alone: there their rows become zeros, and the emulator ends a launch with any other order. So a
/// caller names an existing row where it has none, and does not use what came.
///
/// Both have two modes and elements of 8, 16, 32 or 64 bits; a row of `lds` has whole words of 32
/// bits, and `lds` has `rows.count` rows. A gap may come after each row, as in `tensor_load_to_lds`.
/// Waves that load different rows have different places in LDS. `cache`: as
/// TensorMoveOptions::cache. Throws TraceError for anything else. Sources: LLVM's
/// llvm.amdgcn.tensor.load.to.lds, and what docs/emulator.md names for the descriptor. FlyDSL's
/// functions of this name take a descriptor that the caller has put together.
FLYDSL_API void tensor_load_gather(const Tensor &tensor, const TensorRows &rows, const Int32 &tile,
                                   const Tensor &lds, int cache = 0, Loc loc = Loc::current());
/// gfx1250: the same from shared to global memory: row i of `lds` becomes row `rows[i]`. Columns
/// outside of the tensor are not written, and a gap comes after each row. A row that is named twice,
/// here or by another wave, has one of the two values. Waits and barriers are those of
/// `tensor_store_from_lds`.
FLYDSL_API void tensor_store_gather(const Tensor &lds, const Tensor &tensor, const TensorRows &rows,
                                    const Int32 &tile, int cache = 0, Loc loc = Loc::current());

/// The moves of a wave, as s_wait_tensorcnt counts them, for so many rows.
constexpr int tensor_moves(int rows, int index_bits = 32) {
  const int together = 256 / index_bits;
  return (rows + together - 1) / together;
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
