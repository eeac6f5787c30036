// The tables of vectors that codes of IQ1, IQ2 and IQ3 are numbers of.
#pragma once

#include "operand.h"

#include <cstdint>
#include <vector>

namespace flydsl_ggml {

/// All tables, one after another, as kernels look things up in them.
std::vector<std::uint8_t> codebooks();

/// While one of these lives, kernels that this thread traces find the tables at the address.
class TracedCodebooks {
public:
  explicit TracedCodebooks(const fx::Int64 &address);
  ~TracedCodebooks();
  TracedCodebooks(const TracedCodebooks &) = delete;
  TracedCodebooks &operator=(const TracedCodebooks &) = delete;
};

} // namespace flydsl_ggml
