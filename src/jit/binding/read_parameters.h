// From the types of a function of IR to the parameters of its calls.
#pragma once

#include "jit/binding/parameter.h"

namespace mlir {
class Type;
class TypeRange;
} // namespace mlir

namespace flydsl::jit {

/// The parameter of a type. What no call can pass is Parameter::Kind::unsupported, which a call
/// refuses.
Parameter readParameter(mlir::Type type);
std::vector<Parameter> readParameters(mlir::TypeRange types);

} // namespace flydsl::jit
