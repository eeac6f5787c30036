// What values are between the ranks: as they are, or as codes of 8 bits in blocks with a scale each.
#pragma once

#include "blocks/quant/quant.h"
#include "collective/collective_family.h"

#include <flydsl/flydsl.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A unit is an access, or the accesses of a block, which as many neighbouring threads have.

/// A thread's access on its way.
struct Packet {
  Vector values;                ///< of the problem's type, or codes
  std::optional<Numeric> scale; ///< of its block, f8E8M0FNU as u8
};
/// Where accesses on their way are.
struct PacketMemory {
  Tensor values;                ///< (accesses, elements)
  std::optional<Tensor> scales; ///< (units)
};

/// Makes packets of accesses. The threads of a unit call together.
class Wire {
public:
  explicit Wire(const CollectiveProblem &problem)
      : type_(problem.type), code_(problem.wire), elements_(elementsOf(problem)),
        lanes_(accessesOfBlock(problem)), thread_(thread_idx().x) {}

  /// The threads of a unit.
  int lanes() const { return lanes_; }
  /// The thread's number among the units of its block, the same for all threads of a unit.
  Int32 unitOfThread() const { return lanes_ == 1 ? thread_ : Int32(thread_ / lanes_); }
  /// The units of so many accesses, which are whole units.
  Int32 units(const Numeric &accesses) const {
    return lanes_ == 1 ? Int32(accesses) : Int32(accesses / lanes_);
  }
  /// The thread's access of a unit.
  Int32 access(const Numeric &unit) const {
    return lanes_ == 1 ? Int32(unit) : Int32(unit * lanes_ + thread_ % lanes_);
  }

  Packet packet(const Vector &values) const {
    if (!code_)
      return {values.to(type_), std::nullopt};
    const Vector wide = values.to(f32);
    const Numeric largest =
        gpu::warp_reduce(magnitudes(wide).reduce(Reduction::max), Reduction::max, lanes_);
    const BlockExponent exponent = blockExponent(largest, code_, BlockScale::ceil);
    return {blockValues(wide, exponent, code_), exponent.byte};
  }
  /// What a packet brings: values of the problem's type, or in f32.
  Vector values(const Packet &packet) const {
    if (!code_)
      return packet.values;
    return packet.values.to(f32) * packet.scale->bitcast(f8E8M0FNU).to(f32);
  }

  /// So many accesses in a region of a window.
  PacketMemory memory(const Tensor &region, const Int32 &accesses) const {
    const auto valuesFrom = [&](const Pointer &first) {
      return make_view(first,
                       make_layout({accesses, elements_}, {elements_, 1})); // (accesses, elements)
    };
    if (!code_)
      return {valuesFrom(region.iter()), std::nullopt};
    return {valuesFrom(region.iter().recast(code_)),
            make_view(region.iter() + Int32(accesses * elements_),
                      make_layout(Int32(accesses / lanes_), 1))}; // (scales)
  }
  void store(const PacketMemory &to, const Numeric &unit, const Packet &packet) const {
    to.values(access(unit), _).store(packet.values); // (elements)
    if (code_)
      if_(Boolean(thread_ % lanes_ == 0), [&] { (*to.scales)(unit) = *packet.scale; });
  }
  Packet load(const PacketMemory &from, const Numeric &unit) const {
    const Vector values = from.values(access(unit), _).load(); // (elements)
    if (!code_)
      return {values, std::nullopt};
    return {values, Numeric((*from.scales)(unit))};
  }

private:
  DType type_, code_;
  int elements_, lanes_;
  Int32 thread_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
