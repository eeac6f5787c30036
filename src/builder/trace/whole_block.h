// Places that a whole block comes to for sure.
#pragma once

#include "builder/trace/tracer.h"

namespace flydsl::builder {

/// Whether the operation that is traced next is where all threads of the block come, or none, equally
/// often: each branch and each loop around it is by what is made of constants, arguments of the kernel and
/// the block's number alone, by arithmetic, && and ||. False where that is not known.
bool isForWholeBlock(Tracer &tracer);
/// Whether a branch around it may be one that some threads of the block do not take.
bool isInBranchOfSome(Tracer &tracer);

} // namespace flydsl::builder
