// Races between the waves of a workgroup in LDS.
//
// Two accesses of different waves conflict (races() in touch.h) unless a barrier stands between.
#pragma once

#include "emulator/observe/function_ref.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/lane_loops.h"
#include "emulator/observe/races/touch.h"

#include <array>
#include <cstdint>
#include <vector>

namespace flyemu {

class LdsRaces {
public:
  /// Called for each place of a conflict: the access made before, whether it wrote, the lane that
  /// conflicts with it, and the place.
  using Report = FunctionRef<void(const Touch &before, bool wrote, unsigned lane, uint64_t address,
                                  uint64_t bytes)>;

  /// A workgroup starts that has so many bytes.
  void beginGroup(uint32_t group, uint64_t bytes);
  /// All waves have come to a barrier.
  void barrier();
  /// Notes an access of a wave, which is inside of the workgroup's bytes.
  void access(uint32_t inst, unsigned wave, const LaneAccess &access, const Report &report);
  uint64_t size() const { return bytes_; }

private:
  /// A place has 16 bytes, or as many fewer as accesses have asked for.
  static constexpr unsigned kMostShift = 4;
  static constexpr uint32_t kLastTime = (uint32_t(1) << (32 - LdsTouches::kTimeShift)) - 1;
  enum Part { kWriteKey, kWriteDetail, kReadKey, kReadDetail, kOtherKey, kOtherDetail, kParts };

  void clear();
  void refine(unsigned shift);
  /// Looks at each lane's places, one after the other.
  void accessPlaces(uint32_t inst, uint32_t key, const LaneAccess &access, const Report &report);

  uint64_t bytes_ = 0;
  uint32_t group_ = 0;
  unsigned shift_ = kMostShift; ///< places have 1 << shift bytes
  uint32_t time_ = 0;           ///< counts barriers and workgroups; what is older is forgotten
  std::array<std::vector<uint32_t>, kParts> parts_;
  LdsShadow shadow_ = {};
};

} // namespace flyemu
