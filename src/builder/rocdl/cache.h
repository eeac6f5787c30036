// The cache bits of an instruction, as a number.
#pragma once

#include "builder/trace/tracer.h"

namespace flydsl::builder {

/// A TraceError if the trace's target is known and `auxiliary`, an operand of its buffer
/// instructions, has bits that it does not know.
void expectCacheBits(const Tracer *running, int auxiliary, Loc loc);

} // namespace flydsl::builder
