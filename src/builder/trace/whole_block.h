// Places that a whole block comes to for sure.
#pragma once

#include "builder/trace/tracer.h"

namespace flydsl::builder {

/// Whether the operation that is traced next is where all threads of the block come, or none: each
/// branch around it is on what is made of constants, arguments of the kernel and the block's number
/// alone, by arithmetic. False where that is not known.
bool isForWholeBlock(Tracer &tracer);

} // namespace flydsl::builder
