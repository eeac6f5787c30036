// The results of the kernels in double precision, by the name that the manifest gives.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foreign {

/// Values of the buffers, by their names.
using Values = std::map<std::string, std::vector<double>>;
/// What must be in a buffer after the launch; an element that is not set keeps its code.
using Expected = std::map<std::string, std::vector<std::optional<double>>>;
using Sizes = std::map<std::string, int>;

struct Case {
  const Sizes &sizes;
  const Values &in;
  /// The type that a buffer's elements have, for references that round.
  std::function<double(const std::string &buffer, double value)> round;
  Expected &out;

  int size(const char *name) const { return sizes.at(name); }
};

using Reference = void (*)(const Case &);
using References = std::map<std::string_view, Reference>;
/// Of the kernels that work on tensors, and of those in the manner of HIP's examples.
const References &tensorReferences();
const References &hipReferences();

/// Throws for a name that is none.
void reference(std::string_view name, const Case &c);

} // namespace foreign
