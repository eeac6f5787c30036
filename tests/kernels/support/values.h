// Numbers of an element type on the host, by their names in tests.
#pragma once

#include "host/operand_values.h"

namespace kernel_tests {

namespace fx = flydsl;
using namespace fx::kernels::host;

} // namespace kernel_tests
