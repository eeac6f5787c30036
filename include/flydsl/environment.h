// What the environment asks of libraries that stand over this one; docs/environment.md lists all
// variables.
#pragma once

#include <flydsl/export.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace environment {

/// Whether FLYDSL_KERNELS_CHECK_INDICES asks for checked plans of the kernel library: the default of
/// kernels::PlanOptions::check_indices. Throws Error if the variable can't be read.
FLYDSL_API bool kernels_check_indices();
/// The same of FLYDSL_KERNELS_CHECK_MEMORY and kernels::PlanOptions::check_memory.
FLYDSL_API bool kernels_check_memory();
/// The file of tuned configurations that FLYDSL_KERNELS_TUNED names; empty if it is not set. See
/// kernels::TunedConfigs.
FLYDSL_API std::string kernels_tuned();

} // namespace environment
FLYDSL_NAMESPACE_END
