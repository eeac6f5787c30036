#include "support/env_variables.h"

#include <flydsl/environment.h>

FLYDSL_NAMESPACE_BEGIN

bool environment::kernels_check_indices() { return support::env::kKernelsCheckIndices.get(); }
bool environment::kernels_check_memory() { return support::env::kKernelsCheckMemory.get(); }
std::string environment::kernels_tuned() { return support::env::kKernelsTuned.get().value_or(""); }

FLYDSL_NAMESPACE_END
