// A fuzz target: each line of the input is an expression of the calculator, and must have a value
// or give a LayoutError. Start from tests/layout/corpus.
#include "calculator.h"
#include "layout/error.h"

#include <cstdint>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char *>(data), size));
  for (std::string line; std::getline(lines, line);) {
    try {
      flydsl::layout::calculate(line);
    } catch (const flydsl::layout::LayoutError &) {
      // The answer to nonsense.
    }
  }
  return 0;
}
