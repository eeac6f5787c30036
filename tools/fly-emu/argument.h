// A kernel argument as the command line gives it: a number, or a buffer with a source of its
// contents and a sink for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu::tool {

/// One --arg option.
struct Argument {
  std::vector<uint8_t> bytes; ///< the value; for a buffer, its contents before the launch
  bool isBuffer = false;
  bool isPoison = false; ///< true for a buffer that counts as never written
  std::string sink; ///< what becomes of a buffer afterwards: "", "file,PATH", "show,TYPE[,COUNT]"
};

/// Parses TYPE:NUMBER (i8 ... u64, f32, f64), several of these with commas for a packed struct, or
/// buf:SOURCE[=>SINK]. Throws std::invalid_argument.
///   SOURCE: zero,BYTES | poison,BYTES | iota,TYPE,COUNT | random,TYPE,COUNT[,SEED] | file,PATH
Argument parseArgument(const std::string &text);

/// Writes \p bytes to the sink, or shows them. Throws std::invalid_argument for an invalid sink.
void deliver(const std::string &sink, const std::vector<uint8_t> &bytes, int index);

/// Reads a whole file. Throws std::invalid_argument if it cannot be read.
std::vector<uint8_t> readWholeFile(const std::string &path);

/// Parses a non-negative number. Throws std::invalid_argument that names \p what.
uint64_t parseNumber(const std::string &text, const char *what);

/// Splits at a character.
std::vector<std::string> split(const std::string &text, char at);

} // namespace flyemu::tool
