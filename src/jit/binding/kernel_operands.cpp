#include "jit/binding/kernel_operands.h"

#include <algorithm>
#include <cstring>

namespace flydsl::jit {
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

PackedOperands::PackedOperands(std::span<const KernelOperand> operands,
                               const KernelMetadata &kernel) {
  std::size_t next = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.hidden())
      continue;
    if (next == operands.size() || operands[next].size != argument.size)
      throw CompileError("kernel " + kernel.name + ": argument " + std::to_string(next) + " has " +
                         std::to_string(argument.size) +
                         " bytes in the code object; the launch passes " +
                         (next == operands.size() ? "none" : std::to_string(operands[next].size)));
    constants_.resize(argument.offset + argument.size);
    for (const ArgumentPart &part : operands[next].parts)
      add(part, argument.offset + part.at);
    ++next;
  }
  if (next != operands.size())
    throw CompileError("kernel " + kernel.name + ": the code object has " + std::to_string(next) +
                       " arguments; the launch passes " + std::to_string(operands.size()));
}

/// Leaves out what was to be written there: a later part takes its place.
void PackedOperands::uncover(std::size_t at, std::size_t size) {
  const std::size_t end = at + size;
  std::vector<Copy> left;
  for (const Copy &copy : copies_) {
    const std::size_t copyEnd = copy.at + copy.size;
    if (copy.at < std::min(at, copyEnd))
      left.push_back({copy.at, copy.from, std::min(at, copyEnd) - copy.at});
    if (const std::size_t rest = std::max(end, copy.at); rest < copyEnd)
      left.push_back({rest, copy.from + (rest - copy.at), copyEnd - rest});
  }
  copies_ = std::move(left);
  std::erase_if(moved_, [&](const Moved &moved) { return moved.at >= at && moved.at < end; });
}

void PackedOperands::add(const ArgumentPart &part, std::size_t at) {
  uncover(at, part.from.size ? part.from.size : part.constants.size());
  if (!part.from.size) {
    std::ranges::copy(part.constants, constants_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (part.offset) {
    moved_.push_back({at, part.from.offset, part.offset});
  } else if (!copies_.empty() && copies_.back().at + copies_.back().size == at &&
             copies_.back().from + copies_.back().size == part.from.offset) {
    copies_.back().size += part.from.size; // neighbours in both
  } else {
    copies_.push_back({at, part.from.offset, part.from.size});
  }
}

/// A call of memcpy would cost more than the few bytes.
static void copyFew(std::byte *to, const std::byte *from, std::size_t size) {
  for (; size >= 8; to += 8, from += 8, size -= 8)
    std::memcpy(to, from, 8);
  if (size & 4) {
    std::memcpy(to, from, 4);
    to += 4, from += 4;
  }
  for (size &= 3; size; --size)
    *to++ = *from++;
}

void PackedOperands::fill(std::span<const std::byte> call, std::byte *buffer) const {
  copyFew(buffer, constants_.data(), constants_.size());
  for (const Copy &copy : copies_)
    copyFew(buffer + copy.at, call.data() + copy.from, copy.size);
  for (const Moved &moved : moved_) {
    std::uint64_t address = 0;
    std::memcpy(&address, call.data() + moved.from, sizeof address);
    address += static_cast<std::uint64_t>(moved.offset);
    std::memcpy(buffer + moved.at, &address, sizeof address);
  }
}

} // namespace flydsl::jit
