// The seam between the functions of flydsl/kernel/gpu.h, argument.h, bounded.h, dot.h and wave_memory.h that no
// neutral dialect has an operation for, and the instructions of a vendor's targets.
#pragma once

#include "builder/kernel/lane_moves.h"

#include <flydsl/kernel/bounded.h>
#include <flydsl/kernel/clock.h>
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/wave_memory.h>
#include <flydsl/target.h>

#include <memory>

namespace flydsl::builder {

/// permute_bytes by shifts, for vendors that have no instruction for it.
Int32 bytesByShifts(const Int32 &high, const Int32 &low, const Int32 &selector, Loc loc);
/// The same for dot4.
Int32 dotByShifts(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc);

/// What a vendor's targets do for these functions; see flydsl/kernel/gpu.h for what each means. They create
/// operations in the running trace. Arguments are checked already.
class VendorInstructions {
public:
  virtual ~VendorInstructions() = default;
  virtual Vendor vendor() const = 0;

  virtual Numeric uniform(const Numeric &value, Loc loc) const = 0;
  virtual Boolean anyOfWave(const Boolean &condition, Loc loc) const = 0;
  /// At least one kind of `left` is named.
  virtual void waitFor(const gpu::UnderWay &left, Loc loc) const = 0;
  virtual void meet(Loc loc) const = 0;
  /// A barrier that orders accesses to `memory`, shared or global, and as many others as the vendor's
  /// barrier does.
  virtual void barrier(AddressSpace memory, Loc loc) const = 0;
  /// A fence that orders accesses to `memory`, shared or global; one of all memories, unless the vendor
  /// tells them from each other.
  virtual void fence(MemoryOrder order, AddressSpace, SyncScope scope, Loc loc) const {
    flydsl::fence(order, scope, loc);
  }
  virtual Int64 steadyClock(Loc loc) const = 0;
  virtual void scheduleFence(Loc loc) const = 0;
  virtual void scheduleNext(gpu::Scheduled kind, int count, Loc loc) const = 0;
  virtual void wavePriority(int priority, Loc loc) const = 0;
  virtual void trap(Loc loc) const = 0;
  virtual Numeric rematerialised(const Numeric &value, Loc loc) const = 0;
  virtual Numeric rematerialisedUniform(const Numeric &value, Loc loc) const = 0;
  virtual Vector materialised(const Vector &values, Loc loc) const = 0;
  /// An argument of the kernel, of 32 or of 64 bits; see flydsl/kernel/argument.h.
  virtual Numeric argumentAgain(const Numeric &argument, Loc) const { return argument; }

  /// Numbers of bytes in `selector` are 0 to 7.
  virtual Int32 permuteBytes(const Int32 &high, const Int32 &low, const Int32 &selector,
                             Loc loc) const {
    return bytesByShifts(high, low, selector, loc);
  }
  virtual Int32 dot4(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc) const {
    return dotByShifts(a, b, sum, loc);
  }
  /// How values move among lanes: by shuffles, unless the vendor has other instructions for it.
  virtual std::unique_ptr<const LaneMoves> laneMoves(const LaneGroup &group) const {
    return std::make_unique<LaneMoves>(group);
  }
  /// Memory with an end; see flydsl/kernel/bounded.h.
  virtual Tensor bounded(const Tensor &tensor, const Int64 &bytes, Loc loc) const = 0;
  virtual CopyOp boundedCopy(int bits, CachePolicy cache, Loc loc) const = 0;
  virtual Numeric boundedLoad(const Pointer &view, const BoundedPlace &place, DType type,
                              Loc loc) const = 0;
  virtual Vector boundedLoad(const Pointer &view, const BoundedPlace &place, DType type,
                             std::int64_t size, CachePolicy cache, Loc loc) const = 0;
  virtual void boundedLoadToShared(const Pointer &view, const BoundedPlace &place,
                                   const Pointer &shared, int bytes, CachePolicy cache,
                                   Loc loc) const = 0;
  /// How a wave moves memory; see flydsl/kernel/wave_memory.h.
  virtual Numeric uniformLoad(const Tensor &tensor, const IntTuple &coord, Loc loc) const = 0;
  virtual CopyOp copyToShared(int bits, CachePolicy cache, Loc loc) const = 0;
  virtual CopyOp transposedCopyFromShared(int elementBits, int bits, Loc loc) const = 0;
  /// The accesses of a wave's lanes to memory before it come before those after it.
  virtual void meetOfWave(Loc loc) const = 0;
  /// Rounds to element `at` of a word by random bits, where the target has an instruction for the
  /// type; see builder/random.
  virtual Int32 rounded(const Float32 &x, const Int32 &bits, const Int32 &word, int at, DType type,
                        Loc loc) const = 0;
};

} // namespace flydsl::builder
