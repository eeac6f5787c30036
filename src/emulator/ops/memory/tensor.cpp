// gfx1250: the tensor data mover, which moves a box of a tensor between global memory and LDS.
//
// One instruction of a wave moves all of the box, whatever EXEC holds. In LDS the box is a run of
// elements, the innermost dimension's neighbours, and loads leave padding free between them. Of
// elements out of the tensor's range, loads give zeros and stores write nothing. Sources:
// tensor_descriptor.h.
#include "emulator/core/group.h"
#include "emulator/core/probe.h"
#include "emulator/core/tensor_descriptor.h"
#include "emulator/core/wave.h"
#include "emulator/isa/op.h"
#include "emulator/ops/tables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

namespace flyemu {

namespace {
/// Tells the probe of bytes [first, first + bytes), as if lanes one after another accessed them.
void report(Wave &w, const Inst &i, Space space, uint64_t first, uint64_t bytes, bool write) {
  if (!w.probe)
    return;
  const unsigned each = 1u << std::min(std::countr_zero(first | bytes), 4);
  uint64_t at[kLanes];
  while (bytes) {
    const auto lanes = static_cast<unsigned>(std::min<uint64_t>(bytes / each, w.lanes));
    for (unsigned lane = 0; lane < lanes; ++lane)
      at[lane] = first + uint64_t(lane) * each;
    w.probe->accessLanes(w, i, ~uint64_t(0) >> (64 - lanes), space, at, 0, each, write, false);
    first += uint64_t(lanes) * each;
    bytes -= uint64_t(lanes) * each;
  }
}

/// The box in LDS, from its first byte on.
class Stream {
public:
  Stream(Wave &wave, const Inst &inst, const TensorBox &box) : w_(wave), i_(inst), b_(box) {}

  /// Calls move(place, bytes) for each piece without padding of the next `bytes`.
  template <class Move> void next(uint64_t bytes, bool write, Move move) {
    while (bytes) {
      const uint64_t piece =
          b_.padAfter ? std::min(bytes, b_.padAfter - passed_ % b_.padAfter) : bytes;
      move(place(piece, write), piece);
      skip(piece);
      bytes -= piece;
    }
  }
  void skip(uint64_t bytes) { passed_ += bytes; }

private:
  uint8_t *place(uint64_t bytes, bool write) {
    const uint64_t offset = b_.lds + passed_ + (b_.padAfter ? passed_ / b_.padAfter * b_.pad : 0);
    if (offset + bytes > w_.ldsSize)
      throw WaveFault{"the tensor data mover's box lies in LDS up to byte " +
                      std::to_string(offset + bytes) + ", and the workgroup has " +
                      std::to_string(w_.ldsSize) + " bytes"};
    report(w_, i_, Space::Lds, offset, bytes, write);
    return w_.lds + offset;
  }

  Wave &w_;
  const Inst &i_;
  const TensorBox &b_;
  uint64_t passed_ = 0; ///< bytes of the box, without padding
};

/// Calls visit(element, inside) for each row along dimension 0: the number of its first element from
/// the box's, and how many of its elements are in the tensor's range.
template <class Visit> void eachRow(const TensorBox &b, Visit visit) {
  std::array<uint32_t, TensorBox::kMostRank> at = {};
  const uint32_t most = std::min(b.box[0], b.tensor[0]);
  for (;;) {
    uint64_t element = 0;
    bool inside = true;
    for (unsigned d = 1; d < b.rank; ++d) {
      const uint64_t coordinate = b.gathers ? b.rows[at[d]] : at[d];
      element += coordinate * b.strides[d];
      inside &= coordinate < b.tensor[d];
    }
    visit(element, inside ? most : 0);
    unsigned d = 1;
    while (d < b.rank && ++at[d] == b.box[d])
      at[d++] = 0;
    if (d >= b.rank)
      return;
  }
}

template <bool IsLoad> void move(Wave &w, const Inst &i) {
  const TensorBox b = tensorBox(w, i, IsLoad);
  if (b.workgroups && !w.group->cluster)
    throw WaveFault{
        "a tensor load for workgroups of a cluster, in a launch without clusters: there "
        "the mask is 0"};
  if (!b.rank)
    return;
  if (b.workgroups)
    w.group->cluster->request(w.group->rank, {b.workgroups, b.global, b.lds, true, b.rows});
  Stream lds(w, i, b);
  const uint64_t rowBytes = uint64_t(b.box[0]) * b.elementBytes;
  eachRow(b, [&](uint64_t element, uint32_t inside) {
    const uint64_t bytes = uint64_t(inside) * b.elementBytes,
                   address = b.global + element * b.elementBytes;
    uint8_t *memory = nullptr;
    if (bytes) {
      memory = w.global(address, static_cast<uint32_t>(bytes), !IsLoad, -1);
      report(w, i, Space::Global, address, bytes, !IsLoad);
    }
    lds.next(bytes, IsLoad, [&](uint8_t *place, uint64_t piece) {
      std::memcpy(IsLoad ? place : memory, IsLoad ? memory : place, piece);
      memory += piece;
    });
    if constexpr (IsLoad)
      lds.next(rowBytes - bytes, true,
               [](uint8_t *place, uint64_t piece) { std::memset(place, 0, piece); });
    else
      lds.skip(rowBytes - bytes);
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

constexpr OpDef load(const char *name) {
  return {name, move<true>, Class::VmemRead, Type::None, {}, Transfer().intoLds()};
}
constexpr OpDef store(const char *name) { return {name, move<false>, Class::VmemWrite}; }

// LLVM has a record for descriptors of two groups besides, D2.
constexpr OpDef kOps[] = {
    load("tensor_load_to_lds"),
    load("tensor_load_to_lds_d2"),
    store("tensor_store_from_lds"),
    store("tensor_store_from_lds_d2"),
};
} // namespace

OpTable tableTensor() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
