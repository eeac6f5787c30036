// Which of a multiprocessor's resources limits the workgroups that it holds.
#include "emulator/hip/launch/occupancy.h"

#include <catch2/catch.hpp>

namespace hip = flyemu::hip;

namespace {
/// A kernel of workgroups with so many bytes of LDS, and so many registers a lane.
flyemu::loader::KernelNotes kernel(uint32_t lds, uint32_t registers, uint32_t wave) {
  flyemu::loader::KernelNotes notes;
  notes.groupSegmentSize = lds;
  notes.vgprCount = registers;
  notes.wavefrontSize = wave;
  return notes;
}
} // namespace

TEST_CASE("a multiprocessor holds as many workgroups as its LDS, registers and wave slots allow") {
  const hip::DeviceFigures &mi300x = *hip::findDeviceFigures("gfx942");
  CHECK(hip::residentWorkgroups(mi300x, kernel(20000, 32, 64), 256, 0) == 3);
  CHECK(hip::residentWorkgroups(mi300x, kernel(20000, 32, 64), 256, 20000) == 1);
  CHECK(hip::residentWorkgroups(mi300x, kernel(0, 200, 64), 256, 0) == 2); // 512 registers a lane
  CHECK(hip::residentWorkgroups(mi300x, kernel(0, 32, 64), 256, 0) == 8);
  CHECK(hip::residentWorkgroups(mi300x, kernel(65537, 32, 64), 256, 0) == 0);
}

// RDNA's ISA documents: 128 KB of LDS for the four SIMDs of a work-group processor; a workgroup
// takes 64 KB at most; LLVM's getLocalMemorySize has the same.
TEST_CASE("workgroups of a work-group processor share twice the LDS that one of them may take") {
  for (const char *target : {"gfx1100", "gfx1200", "gfx1201"}) {
    INFO(target);
    const hip::DeviceFigures &figures = *hip::findDeviceFigures(target);
    CHECK(hip::residentWorkgroups(figures, kernel(65536, 32, 32), 128, 0) == 2);
    CHECK(hip::residentWorkgroups(figures, kernel(38000, 32, 32), 128, 0) == 3);
    // HIP has one number for a workgroup and for a multiprocessor.
    CHECK(hip::residentAsHipSays(figures, kernel(65536, 32, 32), 128, 0) == 1);
    CHECK(hip::residentAsHipSays(figures, kernel(38000, 32, 32), 128, 0) == 1);
    // Other limits are the same.
    CHECK(hip::residentAsHipSays(figures, kernel(1024, 250, 32), 128, 0) ==
          hip::residentWorkgroups(figures, kernel(1024, 250, 32), 128, 0));
  }
}
