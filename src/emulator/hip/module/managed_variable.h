// The memory of a __managed__ variable: host memory that every device sees. The code object has a
// pointer by the variable's name, and the variable's first value by its name and ".managed"
// (clang's HIP ABI).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace flyemu::hip {

class ManagedVariable {
public:
  /// \p initial may be null: zeros. Throws hipErrorOutOfMemory.
  ManagedVariable(size_t size, size_t alignment, const void *initial);
  ~ManagedVariable();
  ManagedVariable(const ManagedVariable &) = delete;

  void *data() const { return data_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  size_t size() const { return size_; }

private:
  void *data_;
  size_t size_;
};

using ManagedRef = std::shared_ptr<ManagedVariable>;

/// What the name of a managed variable's first value ends with.
inline const std::string kManagedSuffix = ".managed";

} // namespace flyemu::hip
