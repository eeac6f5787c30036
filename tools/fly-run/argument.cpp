#include "argument.h"

#include "support/file.h"

#include <flydsl/detail/dtype_names.h>
#include <flydsl/detail/float_format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace flydsl::tools {
namespace {

[[noreturn]] void refuse(const std::string &message) { throw CLI::ValidationError(message); }

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t to; (to = text.find(at, from)) != text.npos; from = to + 1)
    parts.push_back(text.substr(from, to - from));
  parts.push_back(text.substr(from));
  return parts;
}

template <class T> T number(const std::string &text, const char *what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse("'" + text + "' is not " + what);
  return value;
}

DType typeNamed(const std::string &name) {
  const std::optional<DType> type = detail::dtypeCalled(name);
  if (type && *type && type->memory_bits() % 8 == 0 && *type != f8E8M0FNU)
    return *type;
  refuse("'" + name + "' is no element type of whole bytes, such as f32 or i32");
}

void store(DType type, double value, std::int64_t integer, std::uint8_t *to) {
  if (type == f64) {
    std::memcpy(to, &value, sizeof value);
  } else if (type == f32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, sizeof narrow);
  } else if (const detail::FloatFormat *format = detail::smallFloatFormat(type)) {
    const std::uint32_t bits =
        format->fromDouble(value, format->bits() == 16 ? detail::FloatOverflow::special
                                                       : detail::FloatOverflow::saturate);
    std::memcpy(to, &bits, static_cast<std::size_t>(type.bytes()));
  } else {
    std::memcpy(to, &integer, static_cast<std::size_t>(type.bytes()));
  }
}

std::string shown(DType type, const std::uint8_t *from) {
  char text[32];
  double value = 0;
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(type.bytes()));
  if (type == f64) {
    std::memcpy(&value, from, sizeof value);
  } else if (type == f32) {
    float narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    value = static_cast<double>(narrow);
  } else if (const detail::FloatFormat *format = detail::smallFloatFormat(type)) {
    value = static_cast<double>(format->toFloat(static_cast<std::uint32_t>(bits)));
  } else {
    const int unused = 64 - 8 * type.bytes();
    return type.is_signed() ? std::to_string(static_cast<std::int64_t>(bits << unused) >> unused)
                            : std::to_string(bits);
  }
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

} // namespace

Argument::Argument(const std::string &text) {
  const std::size_t colon = text.find(':'), bracket = text.find('['), end = text.find("]:");
  if (colon == text.npos)
    refuse("'" + text + "' is neither TYPE:NUMBER nor TYPE[EXTENTS]:SOURCE");
  if (bracket < colon) {
    if (end == text.npos)
      refuse("'" + text + "' has no ']:' between extents and source");
    dtype_ = typeNamed(text.substr(0, bracket));
    parseShape(text.substr(bracket + 1, end - bracket - 1));
    parseSource(text.substr(end + 2));
    return;
  }
  dtype_ = typeNamed(text.substr(0, colon));
  if (dtype_.is_float())
    number_ = number<double>(text.substr(colon + 1), "a number");
  else
    integer_ = number<std::int64_t>(text.substr(colon + 1), "an integer of 64 bits");
}

/// The elements' memory reaches from the first to the last one that the strides lead to.
void Argument::parseShape(const std::string &text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 2)
    refuse("'" + text + "' is neither EXTENTS nor EXTENTS:STRIDES");
  for (const std::string &extent : split(parts[0], 'x'))
    shape_.push_back(number<std::int64_t>(extent, "an extent"));
  if (parts.size() == 2)
    for (const std::string &stride : split(parts[1], 'x'))
      strides_.push_back(number<std::int64_t>(stride, "a stride"));
  const TensorArg checked(nullptr, dtype_, shape_, strides_);
  std::int64_t last = checked.size() ? 1 : 0;
  for (std::size_t i = 0; last && i < shape_.size(); ++i) {
    if (checked.strides()[i] < 0)
      refuse("a stride of '" + text + "' is negative");
    last += (shape_[i] - 1) * checked.strides()[i];
  }
  elements_.resize(static_cast<std::size_t>(last) *
                   static_cast<std::size_t>(dtype_.memory_bits() / 8));
}

void Argument::parseSource(const std::string &source) {
  const std::size_t arrow = source.find("=>");
  if (arrow != source.npos) {
    sink_ = split(source.substr(arrow + 2), ',');
    const bool isFile = sink_[0] == "file" && sink_.size() == 2;
    if (!isFile && !(sink_[0] == "show" && sink_.size() <= 2))
      refuse("'" + source.substr(arrow + 2) + "' is no sink: show[,COUNT] or file,PATH");
  }
  fill(split(source.substr(0, arrow), ','));
}

void Argument::fill(const std::vector<std::string> &source) {
  const std::string &kind = source[0];
  const auto size = static_cast<std::size_t>(dtype_.memory_bits() / 8);
  const std::size_t count = elements_.size() / size;
  const auto each = [&](auto value) { // value(i) is a pair of the number as double and as integer
    for (std::size_t i = 0; i < count; ++i) {
      const auto [real, integer] = value(i);
      store(dtype_, real, integer, elements_.data() + i * size);
    }
  };
  if (kind == "zero" && source.size() == 1)
    return;
  if (kind == "iota" && source.size() == 1)
    return each([](std::size_t i) {
      return std::pair(static_cast<double>(i), static_cast<std::int64_t>(i));
    });
  if (kind == "value" && source.size() == 2) {
    const double value = number<double>(source[1], "a number");
    return each([&](std::size_t) { return std::pair(value, static_cast<std::int64_t>(value)); });
  }
  if (kind == "random" && source.size() <= 2) {
    const auto seed = source.size() == 2 ? number<std::uint64_t>(source[1], "a seed") : 1;
    return each([&](std::size_t i) { // [-1, 1), or -8 to 7
      const std::uint64_t bits = detail::randomBits(seed, i);
      return std::pair(static_cast<double>(bits >> 40) * 0x1p-23 - 1.0,
                       static_cast<std::int64_t>(bits >> 60) - 8);
    });
  }
  if (kind == "file" && source.size() == 2) {
    support::FileContents contents = support::readAll(source[1], elements_.size());
    if (!contents.bytes)
      refuse(source[1] + " can't be read: " + contents.problem);
    if (contents.bytes->size() != elements_.size())
      refuse(source[1] + " has " + std::to_string(contents.bytes->size()) + " bytes, the tensor " +
             std::to_string(elements_.size()));
    elements_ = std::move(*contents.bytes);
    return;
  }
  refuse("'" + kind + "' is no source: zero, iota, value,NUMBER, random[,SEED] or file,PATH");
}

AnyArg Argument::onDevice() {
  if (shape_.empty())
    return dtype_.is_float() ? AnyArg(number_) : AnyArg(integer_);
  memory_.emplace(DeviceArray<std::uint8_t>::from_host(
      elements_, {static_cast<std::int64_t>(elements_.size())}));
  tensor_.emplace(memory_->data(), dtype_, shape_, strides_);
  return AnyArg(*tensor_);
}

void Argument::deliver(std::size_t index) const {
  if (sink_.empty())
    return;
  const std::vector<std::uint8_t> out = memory_->to_host();
  if (sink_[0] == "file") {
    if (std::string problem = support::writeFile(sink_[1], out); !problem.empty())
      throw RuntimeError("can't write " + sink_[1] + ": " + problem);
    return;
  }
  const auto size = static_cast<std::size_t>(dtype_.memory_bits() / 8);
  std::size_t count = out.size() / size;
  if (sink_.size() == 2)
    count = std::min(count, number<std::size_t>(sink_[1], "a count"));
  std::printf("arg %zu:", index);
  for (std::size_t i = 0; i < count; ++i)
    std::printf(" %s", shown(dtype_, out.data() + i * size).c_str());
  std::printf("\n");
}

} // namespace flydsl::tools
