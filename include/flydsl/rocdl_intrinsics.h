// The former place of AMD's instructions one by one.
#pragma once

#include <flydsl/rocdl/intrinsics.h>
