#include "emulator/hip/launch/printf_buffer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace flyemu::hip {
namespace {

constexpr uint32_t kBufferBytes = 4u << 20, kHeaderBytes = 8;

template <class T> bool take(const uint8_t *&at, const uint8_t *end, T &value) {
  if (static_cast<size_t>(end - at) < sizeof value)
    return false;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return true;
}

template <class T> std::string converted(const std::string &specifier, T value) {
  int size = std::snprintf(nullptr, 0, specifier.c_str(), value);
  std::string text(size > 0 ? static_cast<size_t>(size) + 1 : 1, '\0');
  std::snprintf(text.data(), text.size(), specifier.c_str(), value);
  text.pop_back();
  return text;
}

/// Makes widths and precisions 4095 at most, the characters that C (7.21.6.1) promises of one
/// conversion: a kernel's number could ask for gigabytes of blanks.
void limitNumbers(std::string &specifier) {
  constexpr std::string_view kMost = "4095";
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 0; i < specifier.size(); ++i) {
    if (!isDigit(specifier[i]) || specifier[i] == '0') // a zero in front is a flag
      continue;
    size_t end = i;
    while (end < specifier.size() && isDigit(specifier[end]))
      ++end;
    const std::string_view digits = std::string_view(specifier).substr(i, end - i);
    if (digits.size() > kMost.size() || (digits.size() == kMost.size() && digits > kMost)) {
      specifier.replace(i, end - i, kMost);
      end = i + kMost.size();
    }
    i = end;
  }
}

/// The text of the format that the metadata has under a hash: "0:0:<hash>,<text>".
const char *formatOf(const loader::KernelNotes &kernel, uint64_t hash) {
  if (!kernel.printfFormats)
    return nullptr;
  for (const std::string &entry : *kernel.printfFormats) {
    size_t at = entry.find(':');
    at = at == std::string::npos ? at : entry.find(':', at + 1);
    if (at == std::string::npos)
      continue;
    char *comma = nullptr;
    if (std::strtoull(entry.c_str() + at + 1, &comma, 16) == hash && *comma == ',')
      return comma + 1;
  }
  return nullptr;
}

} // namespace

std::string formatPrintf(const std::string &format, const uint8_t *at, const uint8_t *end) {
  std::string text;
  for (size_t i = 0; i < format.size();) {
    size_t percent = std::min(format.find('%', i), format.size());
    text.append(format, i, percent - i);
    const size_t last = format.find_first_not_of("-+ #0123456789.*hlzjtL", percent + 1);
    if (last == std::string::npos)
      return text;
    // The host's printf sees nothing but what is known here: another conversion (%S, %m) or the
    // number of an argument (%1$s) would have it read arguments that are not there.
    if (std::string_view("diouxXcsfFeEgGaApn%").find(format[last]) == std::string_view::npos) {
      text.append(format, percent, last - percent);
      i = last;
      continue;
    }
    i = last + 1;
    const char kind = format[last];
    if (kind == '%') {
      text += '%';
      continue;
    }
    std::string flags = format.substr(percent, last - percent);
    for (size_t star; (star = flags.find('*')) != std::string::npos;) {
      int64_t width = 0;
      if (!take(at, end, width))
        return text;
      const int number = static_cast<int>(width);
      // A negative width stands for '-' and the width; a negative precision, for none.
      if (number < 0 && star > 0 && flags[star - 1] == '.')
        flags.erase(star - 1, 2);
      else
        flags.replace(star, 1, std::to_string(number));
    }
    limitNumbers(flags);
    const bool isWide = flags.find_first_of("lzjt") != std::string::npos;
    const bool isByte = flags.find("hh") != std::string::npos;
    const bool isShort = !isByte && flags.find('h') != std::string::npos;
    flags.erase(
        std::remove_if(flags.begin(), flags.end(), [](char c) { return std::strchr("hlzjtL", c); }),
        flags.end());
    if (kind == 's') {
      const auto *zero =
          static_cast<const uint8_t *>(std::memchr(at, 0, static_cast<size_t>(end - at)));
      if (!zero)
        return text;
      text += converted(flags + "s", reinterpret_cast<const char *>(at));
      at += std::min<size_t>((static_cast<size_t>(zero - at) + 8) / 8 * 8,
                             static_cast<size_t>(end - at));
      continue;
    }
    uint64_t bits = 0;
    if (!take(at, end, bits))
      return text;
    // An integer came as 8 bytes; the format says how many of them count.
    const unsigned above = isWide ? 0 : isByte ? 56 : isShort ? 48 : 32;
    if (kind == 'n') { // takes an argument and prints nothing
    } else if (std::strchr("fFeEgGaA", kind)) {
      double value;
      std::memcpy(&value, &bits, sizeof value);
      text += converted(flags + kind, value);
    } else if (kind == 'p') {
      text += converted(flags + kind, reinterpret_cast<void *>(bits));
    } else if (kind == 'c') {
      text += converted(flags + kind, static_cast<int>(bits));
    } else if (kind == 'd' || kind == 'i') {
      text += converted(flags + "ll" + kind, static_cast<long long>(bits << above) >> above);
    } else {
      text +=
          converted(flags + "ll" + kind, static_cast<unsigned long long>(bits << above) >> above);
    }
  }
  return text;
}

PrintfBuffer::PrintfBuffer(const loader::KernelNotes &kernel) : kernel_(kernel) {
  if (const loader::KernelParameter *argument = kernel.hiddenPointer("hidden_printf_buffer")) {
    argumentOffset_ = argument->offset;
    memory_.resize(kBufferBytes);
    const uint32_t capacity = kBufferBytes - kHeaderBytes;
    std::memcpy(memory_.data() + 4, &capacity, sizeof capacity);
  }
}

MemoryRange PrintfBuffer::range() {
  return {reinterpret_cast<uint64_t>(memory_.data()), memory_.size(), true};
}

void PrintfBuffer::passTo(std::vector<uint8_t> &kernarg) const {
  const uint64_t address = reinterpret_cast<uint64_t>(memory_.data());
  std::memcpy(kernarg.data() + argumentOffset_, &address, sizeof address);
}

std::string formatMessage(const uint8_t *at, const uint8_t *end) {
  const auto *zero =
      static_cast<const uint8_t *>(std::memchr(at, 0, static_cast<size_t>(end - at)));
  if (!zero)
    return {};
  std::string format(reinterpret_cast<const char *>(at), static_cast<size_t>(zero - at));
  at += std::min<size_t>((format.size() + 8) / 8 * 8, static_cast<size_t>(end - at));
  return formatPrintf(format, at, end);
}

std::string PrintfBuffer::record(const uint8_t *at, const uint8_t *end, bool constantFormat) const {
  if (!constantFormat)
    return formatMessage(at, end);
  uint64_t hash = 0;
  if (!take(at, end, hash))
    return {};
  const char *format = formatOf(kernel_, hash);
  return format ? formatPrintf(format, at, end) : std::string();
}

std::string PrintfBuffer::text() const {
  std::string text;
  if (memory_.empty())
    return text;
  uint32_t used = 0;
  std::memcpy(&used, memory_.data(), sizeof used);
  const uint8_t *at = memory_.data() + kHeaderBytes;
  const uint8_t *end = at + std::min(used, kBufferBytes - kHeaderBytes);
  uint32_t control = 0;
  while (take(at, end, control)) {
    const size_t bytes = control >> 2;
    if (bytes < sizeof control || bytes - sizeof control > static_cast<size_t>(end - at))
      break;
    text += record(at, at + (bytes - sizeof control), control & 2);
    at += bytes - sizeof control;
  }
  return text;
}

} // namespace flyemu::hip
