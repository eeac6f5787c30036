// The algebra on values that are known while tracing.
#pragma once

#include "builder/node.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace flydsl::builder {

/// The operation `name` of the Fly dialect on host values: the answer, or monostate where there is
/// no such operation on them. Throws LayoutError where it is not admissible.
detail::HostValue evaluateHost(llvm::StringRef name, llvm::ArrayRef<detail::HostValue> operands,
                               llvm::ArrayRef<int> numbers);

} // namespace flydsl::builder
