// Runs a test program over the fake HIP library.
#pragma once

#include "fake_hip.h"

/// The state of the fake that the runtime loads (or will load).
FakeHip &fake();
