#include "dialect/Fly/IR/InferenceMemo.h"

#include "dialect/Fly/IR/FlyDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace mlir::fly {

static StringRef bytesOf(const InferenceMemo::Key &key) {
  return {reinterpret_cast<const char *>(key.data()), key.size_in_bytes()};
}

InferenceMemo *InferenceMemo::of(MLIRContext &context) {
  auto *dialect = context.getLoadedDialect<FlyDialect>();
  return dialect ? dialect->getRegisteredInterface<InferenceMemo>() : nullptr;
}

InferenceMemo::Key InferenceMemo::keyOf(AlgebraFn fn, ValueRange operands, OperationName name,
                                        OpaqueProperties properties) {
  // Functions whose code is the same may have one address. They infer the same types.
  Key key = {reinterpret_cast<const void *>(fn)};
  for (Value operand : operands)
    key.push_back(operand.getType().getAsOpaquePointer());
  const std::size_t bytes = properties ? static_cast<std::size_t>(name.getOpPropertyByteSize()) : 0;
  const std::size_t words = key.size();
  key.resize(words + llvm::divideCeil(bytes, sizeof(void *)), nullptr);
  if (bytes)
    std::memcpy(key.data() + words, properties.as<const void *>(), bytes);
  return key;
}

bool InferenceMemo::find(const Key &key, SmallVectorImpl<Type> &types) const {
  std::lock_guard lock(mutex_);
  auto found = types_.find(bytesOf(key));
  if (found == types_.end())
    return false;
  llvm::append_range(types, found->second);
  return true;
}

void InferenceMemo::add(const Key &key, ArrayRef<Type> types) {
  std::lock_guard lock(mutex_);
  types_.try_emplace(bytesOf(key), types);
}

} // namespace mlir::fly
