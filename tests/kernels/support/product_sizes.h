// The sizes of products of real models (product_sizes.txt).
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kernel_tests {

struct ProductSize {
  std::int64_t n, k;
  std::string types;
  bool has(const char *type) const {
    return ("," + types + ",").find("," + std::string(type) + ",") != std::string::npos;
  }
};
inline const std::vector<ProductSize> &publishedSizes() {
  static const std::vector<ProductSize> all = [] {
    std::vector<ProductSize> sizes;
    std::ifstream file(FLYDSL_PRODUCT_SIZES);
    for (std::string line; std::getline(file, line);)
      if (ProductSize size; !line.empty() && line[0] != '#') {
        std::istringstream(line) >> size.n >> size.k >> size.types;
        sizes.push_back(size);
      }
    return sizes;
  }();
  return all;
}

} // namespace kernel_tests
