// The arrays in a workgroup's LDS, as the kernel says where they lie.
#pragma once

#include "emulator/core/program.h"
#include "emulator/core/wave.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu {

/// What a kernel that was compiled for the check of memory says at its start (support/red_zones.h).
/// Other kernels say nothing, and have no arrays here.
class LdsArrays {
public:
  struct Array {
    uint64_t begin = 0, end = 0;
    uint64_t zoneEnd = 0;       ///< of the red zone, which begins at `end`
    const Inst *mark = nullptr; ///< where the kernel says so; its source line is the array's
  };

  void beginGroup() { arrays_.clear(); }
  bool empty() const { return arrays_.empty(); }

  /// Whether an instruction begins a mark.
  static bool isMark(const Program &program, const Inst &inst);
  /// Notes the array of the mark that a wave is about to execute.
  void note(const Wave &wave, const Inst &mark);

  /// Whether the bytes from `first` to `end` are of one array.
  bool isWithinOne(uint64_t first, uint64_t end) const;
  /// The array into whose red zone an access of LDS reaches, or null.
  const Array *overrun(uint64_t at, uint64_t bytes) const;
  /// The array that begins where the red zone of `array` ends, or null.
  const Array *after(const Array &array) const;

private:
  std::vector<Array> arrays_; ///< by where they begin
};

} // namespace flyemu
