// What a Kernel holds.
#pragma once

#include "jit/launch/signature_table.h"

#include <flydsl/kernel.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

class KernelState {
public:
  explicit KernelState(KernelSpec spec) : spec(std::move(spec)) {}
  const KernelSpec spec;
  jit::SignatureTable table;
};

} // namespace detail
FLYDSL_NAMESPACE_END
