// The kernels that were traced in this process, by their names.
#pragma once

#include "operand.h"

namespace flydsl_ggml {

/// Launches the kernel of that name on the stream; where there is none yet, `body` is traced and
/// compiled. Throws the errors of fx::Kernel.
void launch(const fx::Stream &stream, const Launch &what, const Body &body);

} // namespace flydsl_ggml
