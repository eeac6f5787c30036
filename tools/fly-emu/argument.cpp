#include "argument.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace flyemu::tool {
namespace {

[[noreturn]] void bad(const std::string &message) { throw std::invalid_argument(message); }

/// Calls \p visit with a zero of the C++ type that a name stands for.
template <typename Visit> void withType(const std::string &name, Visit &&visit) {
  if (name == "i8")
    visit(int8_t());
  else if (name == "u8")
    visit(uint8_t());
  else if (name == "i16")
    visit(int16_t());
  else if (name == "u16")
    visit(uint16_t());
  else if (name == "i32")
    visit(int32_t());
  else if (name == "u32")
    visit(uint32_t());
  else if (name == "i64")
    visit(int64_t());
  else if (name == "u64")
    visit(uint64_t());
  else if (name == "f32")
    visit(float());
  else if (name == "f64")
    visit(double());
  else
    bad("unknown type '" + name + "' (i8 u8 i16 u16 i32 u32 i64 u64 f32 f64)");
}

template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

std::vector<uint8_t> parseValue(const std::string &type, const std::string &number) {
  std::vector<uint8_t> bytes;
  size_t used = 0;
  withType(type, [&](auto zero) {
    using T = decltype(zero);
    try {
      if constexpr (std::is_floating_point_v<T>)
        append(bytes, static_cast<T>(std::stod(number, &used)));
      else if constexpr (std::is_signed_v<T>)
        append(bytes, static_cast<T>(std::stoll(number, &used, 0)));
      else
        append(bytes, static_cast<T>(std::stoull(number, &used, 0)));
    } catch (const std::logic_error &) {
      used = std::string::npos;
    }
  });
  if (used != number.size())
    bad("'" + number + "' is no " + type);
  return bytes;
}

std::vector<uint8_t> iota(const std::string &type, uint64_t count) {
  std::vector<uint8_t> bytes;
  withType(type, [&](auto zero) {
    for (uint64_t i = 0; i < count; ++i)
      append(bytes, static_cast<decltype(zero)>(i));
  });
  return bytes;
}

/// Random numbers of a type: floating-point numbers lie in [-1, 1), integers anywhere.
std::vector<uint8_t> randomNumbers(const std::string &type, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> spread(-1, 1);
  std::vector<uint8_t> bytes;
  withType(type, [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = 0; i < count; ++i)
      append(bytes, static_cast<T>(std::is_floating_point_v<T> ? T(spread(random)) : T(random())));
  });
  return bytes;
}

std::vector<uint8_t> parseSource(const std::string &text) {
  std::vector<std::string> part = split(text, ',');
  if (part[0] == "zero" && part.size() == 2)
    return std::vector<uint8_t>(parseNumber(part[1], "a buffer's size"), 0);
  if (part[0] == "poison" && part.size() == 2)
    return std::vector<uint8_t>(parseNumber(part[1], "a buffer's size"), 0xA5);
  if (part[0] == "iota" && part.size() == 3)
    return iota(part[1], parseNumber(part[2], "a count"));
  if (part[0] == "random" && (part.size() == 3 || part.size() == 4))
    return randomNumbers(part[1], parseNumber(part[2], "a count"),
                         part.size() == 4 ? parseNumber(part[3], "a seed") : 1);
  if (part[0] == "file" && part.size() == 2)
    return readWholeFile(part[1]);
  bad("'" + text + "' is no buffer source");
}

void show(const std::string &type, uint64_t count, const std::vector<uint8_t> &bytes, int index) {
  std::printf("arg %d:", index);
  withType(type, [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = 0; i < count && (i + 1) * sizeof(T) <= bytes.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_floating_point_v<T>)
        std::printf(" %.9g", static_cast<double>(value));
      else
        std::printf(" %s", std::to_string(value).c_str());
    }
  });
  std::printf("\n");
}

} // namespace

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t to; (to = text.find(at, from)) != std::string::npos; from = to + 1)
    parts.push_back(text.substr(from, to - from));
  parts.push_back(text.substr(from));
  return parts;
}

uint64_t parseNumber(const std::string &text, const char *what) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    bad("'" + text + "' is not " + what);
  return std::stoull(text);
}

std::vector<uint8_t> readWholeFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    bad("cannot read '" + path + "'");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string_view all = bytes.view();
  return {all.begin(), all.end()};
}

Argument parseArgument(const std::string &text) {
  Argument result;
  if (!text.starts_with("buf:")) {
    for (const std::string &member : split(text, ',')) {
      size_t colon = member.find(':');
      if (colon == std::string::npos)
        bad("'" + member + "' is neither TYPE:NUMBER nor buf:SOURCE");
      std::vector<uint8_t> bytes = parseValue(member.substr(0, colon), member.substr(colon + 1));
      result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
    }
    return result;
  }
  std::string rest = text.substr(4);
  result.isBuffer = true;
  size_t arrow = rest.find("=>");
  if (arrow != std::string::npos)
    result.sink = rest.substr(arrow + 2);
  result.bytes = parseSource(rest.substr(0, arrow));
  result.isPoison = rest.compare(0, 7, "poison,") == 0;
  if (result.bytes.empty())
    bad("'" + text + "' is an empty buffer");
  return result;
}

void deliver(const std::string &sink, const std::vector<uint8_t> &bytes, int index) {
  std::vector<std::string> part = split(sink, ',');
  if (part[0] == "file" && part.size() == 2) {
    std::ofstream file(part[1], std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
    if (!file)
      bad("cannot write '" + part[1] + "'");
    return;
  }
  if (part[0] == "show" && (part.size() == 2 || part.size() == 3))
    return show(part[1], part.size() == 3 ? parseNumber(part[2], "a count") : bytes.size(), bytes,
                index);
  bad("'" + sink + "' is no sink (file,PATH or show,TYPE[,COUNT])");
}

} // namespace flyemu::tool
