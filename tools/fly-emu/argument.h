// A kernel argument as the command line gives it: a number, or a buffer with a source and a sink.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu::tool {

/// One --arg.
struct Argument {
  std::vector<uint8_t> bytes; ///< the value; of a buffer, its contents before the launch
  bool isBuffer = false;
  bool isPoison = false; ///< a buffer that counts as never written
  std::string sink; ///< what to do with a buffer afterwards: "", "file,PATH", "show,TYPE[,COUNT]"
};

/// Reads TYPE:NUMBER (i8 ... u64, f32, f64), several of them with commas for a packed struct, or
/// buf:SOURCE[=>SINK]. Throws std::invalid_argument.
///   SOURCE: zero,BYTES | poison,BYTES | iota,TYPE,COUNT | random,TYPE,COUNT[,SEED] | file,PATH
Argument parseArgument(const std::string &text);

/// Writes or shows \p bytes as the sink says. Throws std::invalid_argument for a bad sink.
void deliver(const std::string &sink, const std::vector<uint8_t> &bytes, int index);

/// Reads a whole file; throws std::invalid_argument when it cannot be read.
std::vector<uint8_t> readWholeFile(const std::string &path);

/// A non-negative number; throws std::invalid_argument naming \p what.
uint64_t parseNumber(const std::string &text, const char *what);

/// Splits at a character.
std::vector<std::string> split(const std::string &text, char at);

} // namespace flyemu::tool
