#include "jit/binding/kernel_operands.h"

#include <algorithm>
#include <cstring>

namespace flydsl::jit {
namespace {

void write(const ArgumentPart &part, std::span<const std::byte> call, std::byte *argument) {
  if (!part.from.size) {
    std::ranges::copy(part.constants, argument + part.at);
    return;
  }
  if (!part.offset) {
    std::memcpy(argument + part.at, call.data() + part.from.offset, part.from.size);
    return;
  }
  std::uint64_t address = 0;
  std::memcpy(&address, call.data() + part.from.offset, sizeof address);
  address += static_cast<std::uint64_t>(part.offset);
  std::memcpy(argument + part.at, &address, sizeof address);
}

} // namespace

std::vector<KernelOperand> operandsOf(std::span<const Parameter> parameters) {
  std::vector<KernelOperand> operands;
  std::size_t offset = 0;
  for (const Parameter &parameter : parameters)
    for (const Piece &piece : piecesOf(parameter, offset)) {
      operands.push_back({piece.size, {{0, piece, 0, {}}}});
      offset = piece.offset + piece.size;
    }
  return operands;
}

std::vector<std::byte> packOperands(std::span<const KernelOperand> operands,
                                    std::span<const std::byte> call, const KernelMetadata &kernel) {
  std::vector<std::byte> bytes;
  std::size_t next = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.hidden())
      continue;
    if (next == operands.size() || operands[next].size != argument.size)
      throw CompileError("kernel " + kernel.name + ": argument " + std::to_string(next) + " has " +
                         std::to_string(argument.size) +
                         " bytes in the code object; the launch passes " +
                         (next == operands.size() ? "none" : std::to_string(operands[next].size)));
    bytes.resize(argument.offset + argument.size);
    for (const ArgumentPart &part : operands[next].parts)
      write(part, call, bytes.data() + argument.offset);
    ++next;
  }
  if (next != operands.size())
    throw CompileError("kernel " + kernel.name + ": the code object has " + std::to_string(next) +
                       " arguments; the launch passes " + std::to_string(operands.size()));
  return bytes;
}

} // namespace flydsl::jit
