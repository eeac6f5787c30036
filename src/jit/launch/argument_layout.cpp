// Where a call packs its arguments is compared with where the code object expects them.
#include "jit/binding/parameter.h"
#include "jit/launch/build.h"

#include <algorithm>
#include <string>

namespace flydsl::jit {
namespace {
/// Where ArgPack puts the pieces of these arguments: each at its natural alignment, a tensor's
/// packed struct at once behind its pointer.
std::vector<Piece> packedPieces(std::span<const detail::ArgType> types, bool recordsEvents) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  auto put = [&](std::size_t size, std::size_t align) {
    at = (at + align - 1) / align * align;
    pieces.push_back({at, size});
    at += size;
  };
  for (const detail::ArgType &type : types) {
    if (type.kind == detail::ArgType::Kind::scalar) {
      put(type.dtype.bytes(), type.dtype.bytes());
    } else if (type.kind == detail::ArgType::Kind::pointer) {
      put(8, 8);
    } else if (type.kind == detail::ArgType::Kind::tensor) {
      put(8, 8);
      std::size_t dynamic = 0;
      for (const auto *leaves : {&type.shape, &type.stride})
        for (const detail::LeafType &leaf : *leaves)
          dynamic += static_cast<std::size_t>(leaf.width / 8);
      if (dynamic)
        put(dynamic, 1);
    }
  }
  if (recordsEvents)
    put(8, 8);
  return pieces;
}
} // namespace

void checkArgumentLayout(const KernelMetadata &kernel, std::span<const detail::ArgType> types,
                         bool recordsEvents) {
  const std::vector<Piece> pieces = packedPieces(types, recordsEvents);
  std::size_t next = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.hidden())
      continue;
    if (next == pieces.size() || pieces[next].offset != argument.offset ||
        pieces[next].size != argument.size) {
      std::string expected = next == pieces.size()
                                 ? "nothing"
                                 : std::to_string(pieces[next].size) + " bytes at offset " +
                                       std::to_string(pieces[next].offset);
      throw CompileError("kernel " + kernel.name + ": argument " + std::to_string(next) + " has " +
                         std::to_string(argument.size) + " bytes at offset " +
                         std::to_string(argument.offset) + " in the code object; a call packs " +
                         expected);
    }
    ++next;
  }
  if (next != pieces.size())
    throw CompileError("kernel " + kernel.name + ": the code object has " + std::to_string(next) +
                       " arguments; a call packs " + std::to_string(pieces.size()));
}

void checkRequiredBlock(const KernelMetadata &kernel, std::array<unsigned, 3> block) {
  const auto text = [](const auto &b) {
    return "(" + std::to_string(b[0]) + ", " + std::to_string(b[1]) + ", " + std::to_string(b[2]) +
           ")";
  };
  if (!block[0] || !kernel.requiredBlock[0])
    return;
  if (!std::equal(block.begin(), block.end(), kernel.requiredBlock))
    throw CompileError("kernel " + kernel.name + ": the code object is for workgroups of " +
                       text(kernel.requiredBlock) + ", the call has " + text(block));
}

} // namespace flydsl::jit
