// What a host function does for one call's values: launches, in order. No MLIR is here.
#pragma once

#include "jit/binding/kernel_operands.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace flydsl::jit {

/// One launch.
struct PlannedLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1}, cluster = {1, 1, 1};
  std::int64_t smem = 0;
  int stream = -1; ///< which of the call's streams; -1: the default stream
  std::vector<KernelOperand> operands;
};

using Plan = std::vector<PlannedLaunch>;

/// The bytes that an argument of a lowered host function has in a call.
struct Slot {
  Piece piece;
  int stream = -1; ///< which of the call's streams; such a slot has no bytes
  /// Whether more depends on it than what kernels are given: then each value has a plan of its own.
  bool decides = false;
};

/// A function of the host that launches kernels.
struct HostFunction {
  std::string name;
  Signature signature;
  std::vector<Slot> slots; ///< of the lowered function, in order
};

/// A module that was read, in two parts; both are MLIR's bytecode, written by this process.
struct ProgramModule {
  std::string name;   ///< in messages
  std::string host;   ///< the lowered host functions, with kernels that are empty
  std::string device; ///< the kernels
  std::vector<HostFunction> functions;
};

} // namespace flydsl::jit
