// Operands of a call in device memory, made by their roles: for tuning, tools and tests.
#pragma once

#include <flydsl/host/device_array.h>
#include <flydsl/kernels/operands.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::host {

/// What kernels read holds what its role says, and inputs are random (`sampleBytes`); what they write
/// is poisoned first. The memory of what is only read ends with its last element.
class SampledMemory {
public:
  struct Operand {
    std::string name; ///< of the field in Args
    DType dtype;
    std::vector<std::int64_t> shape;
    Role role;
    std::int64_t elements = 0;
    std::int64_t around = 0; ///< bytes before and after it that nothing may write
    std::unique_ptr<DeviceArray<std::uint8_t>> memory;

    bool written() const { return role == Role::output || role == Role::both; }
    /// The bytes of the elements.
    std::vector<std::uint8_t> bytes() const;
  };

  /// `around`: bytes before and after each operand that kernels write, by which stray writes are
  /// found.
  explicit SampledMemory(std::int64_t around = 0) : around_(around) {}

  /// Makes an operand and keeps it.
  Sampler sampler();
  const std::vector<Operand> &operands() const { return operands_; }
  /// New inputs for a seed, and outputs that hold nothing. Flags stay as the last call left them.
  void fill(std::uint64_t seed);

  /// The values of what kernels read, by name, before they run. Those of types whose elements are
  /// parts of bytes are left out, but for f4E2M1FN.
  std::map<std::string, std::vector<double>> inputs() const;
  /// The values of an operand. Throws Error if there is none of this name.
  std::vector<double> values(const std::string &name) const;
  /// The first operand around which something was written; empty if there is none.
  std::string writtenAround() const;

private:
  TensorArg make(const char *name, DType dtype, TensorArg::Dims shape, Role role);
  void fill(Operand &operand, std::uint64_t seed);

  std::int64_t around_;
  std::vector<Operand> operands_;
};

/// The bytes of an operand that kernels read in a role: floats in [-1, 1), integers from -8 to 7,
/// unsigned ones from 0 to 15, scales that are powers of two from 2^-3 to 1, 4-bit numbers of any
/// bits; or the numbers that the role has.
std::vector<std::uint8_t> sampleBytes(Role role, DType dtype, std::int64_t elements,
                                      std::uint64_t seed);

} // namespace kernels::host
FLYDSL_NAMESPACE_END
