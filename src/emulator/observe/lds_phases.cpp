#include "emulator/observe/lds_phases.h"

#include <array>
#include <bit>

namespace flyemu {

namespace {

/// By the logarithm of how many lanes the banks have room for.
constexpr LdsService inOrderOn(unsigned banks, unsigned dwords) {
  switch (std::bit_floor(banks / dwords)) {
  case 64:
    return {banks, kLdsInOrder<64>};
  case 32:
    return {banks, kLdsInOrder<32>};
  case 16:
    return {banks, kLdsInOrder<16>};
  default:
    return {banks, kLdsInOrder<8>};
  }
}
template <unsigned Banks>
constexpr std::array kInOrder = {inOrderOn(Banks, 1), inOrderOn(Banks, 2), inOrderOn(Banks, 3),
                                 inOrderOn(Banks, 4)};

} // namespace

const LdsService &ldsService(const Machine &machine, LdsAccess access, unsigned dwords) {
  for (const LdsRow &row : ldsRows())
    if (row.access == access && row.dwords == dwords && row.processor == machine.processor->name)
      return row.service;
  return (machine.processor->ldsBanks == 64 ? kInOrder<64> : kInOrder<32>)[dwords - 1];
}

} // namespace flyemu
