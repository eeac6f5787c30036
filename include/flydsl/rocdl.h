// The former place of what only AMD's targets have.
#pragma once

#include <flydsl/rocdl/rocdl.h>
