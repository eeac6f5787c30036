// Arguments whose shapes are static.
#pragma once

#include <flydsl/flydsl.h>

namespace atoms_test {

/// A row-major argument as a tensor whose layout is static.
inline flydsl::Tensor fixed(const flydsl::Tensor &argument, std::int64_t rows,
                            std::int64_t columns) {
  return flydsl::make_view(argument.iter(),
                           flydsl::make_layout({rows, columns}, {columns, std::int64_t(1)}));
}

} // namespace atoms_test
