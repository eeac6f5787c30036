#include "layouts.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace matrix_layouts {

Step Operand::at(unsigned laneNumber, unsigned itemNumber) const {
  Step sum;
  auto add = [&sum](const std::vector<Step> &steps, unsigned number) {
    for (std::size_t bit = 0; bit < steps.size(); ++bit)
      if (number >> bit & 1) {
        sum.i += steps[bit].i;
        sum.j += steps[bit].j;
        sum.k += steps[bit].k;
        sum.block += steps[bit].block;
      }
  };
  add(lane, laneNumber);
  add(item, itemNumber);
  return sum;
}

const std::vector<Instruction> &instructions() {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> rows = detail::cdnaInstructions();
    const std::vector<Instruction> more = detail::rdnaInstructions();
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return all;
}

static unsigned targetBit(std::string_view target) {
  if (target == "gfx90a")
    return kGfx90a;
  if (target == "gfx942")
    return kGfx942;
  if (target == "gfx950")
    return kGfx950;
  if (target == "gfx1250")
    return kGfx1250;
  return target.starts_with("gfx11") ? kGfx11 : target.starts_with("gfx120") ? kGfx120x : 0u;
}

bool has(const Instruction &row, std::string_view target) {
  return row.targets & targetBit(target);
}

Found find(std::string_view target, std::string_view name, unsigned bitsA, unsigned bitsB) {
  Found found{};
  for (const Instruction &row : instructions()) {
    if (!has(row, target) || std::find(row.names.begin(), row.names.end(), name) == row.names.end())
      continue;
    if (!found.a && (!bitsA || row.a.bits == bitsA)) {
      found.a = &row.a;
      found.d = &row.d;
      found.row = &row;
    }
    if (!found.b && (!bitsB || row.b.bits == bitsB))
      found.b = &row.b;
  }
  if (!found.a || !found.b)
    throw std::out_of_range("no layout from outside is written down for " + std::string(name) +
                            " of " + std::string(target));
  return found;
}

} // namespace matrix_layouts
