#include "frame/memory_checks.h"

#include <flydsl/error.h>
#include <flydsl/host/device.h>

#include <cstdint>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The bytes from a tensor's first element to the end of its last; nothing if there are none, or if
/// elements lie before the first one.
std::optional<std::uint64_t> spanOf(const TensorArg &tensor) {
  std::uint64_t last = 0; // a tensor spans less than 2^63 bytes
  for (std::size_t mode = 0; mode < static_cast<std::size_t>(tensor.rank()); ++mode) {
    const std::int64_t extent = tensor.shape()[mode], stride = tensor.strides()[mode];
    if (extent == 0 || (extent > 1 && stride < 0))
      return std::nullopt;
    if (extent > 1)
      last += static_cast<std::uint64_t>(extent - 1) * static_cast<std::uint64_t>(stride);
  }
  return ((last + 1) * static_cast<std::uint64_t>(tensor.dtype().memory_bits()) + 7) / 8;
}

} // namespace

void expectInMemory(std::string_view family, std::string_view name, const TensorArg &tensor,
                    const std::source_location &where) {
  const std::optional<std::uint64_t> bytes = spanOf(tensor);
  if (!bytes || !tensor.data())
    return;
  const std::string what = std::string(family) + ": " + std::string(name);
  const std::optional<Allocation> found = allocation_of(tensor.data(), where);
  if (!found)
    throw TraceError(what +
                         " points to memory that the driver does not know: it was freed, or is the "
                         "host's own; give it memory of the device",
                     where);
  const auto from = static_cast<std::uint64_t>(static_cast<const char *>(tensor.data()) -
                                               static_cast<const char *>(found->data));
  if (*bytes > found->bytes - from)
    throw TraceError(what + " spans " + std::to_string(*bytes) +
                         " bytes by its extents and strides, and its memory ends after " +
                         std::to_string(found->bytes - from) + ": it is an allocation of " +
                         std::to_string(found->bytes) + " bytes, in which " + std::string(name) +
                         " starts at byte " + std::to_string(from),
                     where);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
