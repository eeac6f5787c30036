// What a target offers, and the refusal of what it does not.
#pragma once

#include "builder/tracer.h"

namespace flydsl::builder {

/// TraceError where the trace is for none of the processors whose names begin so ("gfx95").
void expectTarget(Tracer &tracer, const char *what, std::initializer_list<const char *> families,
                  Loc loc);

} // namespace flydsl::builder
