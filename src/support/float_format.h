// The small floating-point formats, for the rooms that do not include public headers. The
// description itself stands under include/, because fx::half_t and the other numbers of the host
// convert by it in constant expressions.
#pragma once

#include <flydsl/detail/float_format.h> // IWYU pragma: export
