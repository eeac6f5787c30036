#include "jit/compile/rocm/schedule/reachability.h"

namespace flydsl::jit {

void Reachability::addTo(Matrix &matrix, unsigned node, const Word *of, const Word *added,
                         unsigned itself) {
  auto addToRow = [&](unsigned number) {
    Word *to = row(matrix, number);
    for (unsigned i = 0; i < words_; ++i)
      to[i] |= added[i];
    to[itself / NodeSet::kWordBits] |= Word(1) << itself % NodeSet::kWordBits;
  };
  addToRow(node);
  for (unsigned i = 0; i < words_; ++i)
    for (Word left = of[i]; left; left &= left - 1)
      addToRow(i * NodeSet::kWordBits + static_cast<unsigned>(llvm::countr_zero(left)));
}

void Reachability::add(unsigned from, unsigned to) {
  if (reaches(from, to))
    return;
  addTo(after_, from, row(before_, from), row(after_, to), to);
  addTo(before_, to, row(after_, to), row(before_, from), from);
}

} // namespace flydsl::jit
