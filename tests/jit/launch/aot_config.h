// The configuration that the exporting and the launching program share.
#pragma once

struct WeightedConfig {
  int repeats = 1;
  bool negated = false;
};
inline constexpr int weightedBlock = 64;
