#include "gguf.h"

#include <cstring>
#include <fstream>

namespace fk = flydsl::kernels;

namespace llama {
namespace {

/// The numbers of the kinds of values in a file.
enum class Kind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// Walks over the bytes of a file.
class Cursor {
public:
  explicit Cursor(const std::vector<std::uint8_t> &bytes) : bytes_(bytes) {}

  std::size_t place() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(const std::string &what) const {
    throw FileError("at byte " + std::to_string(at_) + ": " + what);
  }
  template <class T> T number() {
    T value;
    if (left() < sizeof(T))
      fail("the file ends in the middle of a number");
    std::memcpy(&value, &bytes_[at_], sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    if (size > left())
      fail("a text of " + std::to_string(size) + " bytes, of which the file has " +
           std::to_string(left()));
    const std::string made(reinterpret_cast<const char *>(bytes_.data()) + at_,
                           static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return made;
  }
  /// A count of things that take `least` bytes each at least.
  std::size_t count(const char *of, std::size_t least) {
    const auto found = number<std::uint64_t>();
    if (found > left() / least)
      fail(std::to_string(found) + " " + of + ", for which the file has " + std::to_string(left()) +
           " bytes");
    return static_cast<std::size_t>(found);
  }
  void skip(std::size_t bytes) {
    if (bytes > left())
      fail("the file ends before its tensors");
    at_ += bytes;
  }

  Value value() { return value(static_cast<Kind>(number<std::uint32_t>())); }

private:
  Value value(Kind kind) {
    switch (kind) {
    case Kind::u8:
      return std::int64_t(number<std::uint8_t>());
    case Kind::i8:
      return std::int64_t(number<std::int8_t>());
    case Kind::u16:
      return std::int64_t(number<std::uint16_t>());
    case Kind::i16:
      return std::int64_t(number<std::int16_t>());
    case Kind::u32:
      return std::int64_t(number<std::uint32_t>());
    case Kind::i32:
      return std::int64_t(number<std::int32_t>());
    case Kind::f32:
      return double(number<float>());
    case Kind::boolean:
      return number<std::uint8_t>() != 0;
    case Kind::text:
      return text();
    case Kind::array:
      return array();
    case Kind::u64:
      return std::int64_t(number<std::uint64_t>());
    case Kind::i64:
      return number<std::int64_t>();
    case Kind::f64:
      return number<double>();
    }
    fail("a value of kind " + std::to_string(static_cast<std::uint32_t>(kind)));
  }
  Value array() {
    const auto kind = static_cast<Kind>(number<std::uint32_t>());
    if (kind == Kind::array)
      fail("an array of arrays");
    const std::size_t size = count("elements of an array", kind == Kind::text ? 8 : 1);
    if (kind == Kind::text) {
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < size; ++i)
        texts.push_back(text());
      return texts;
    }
    std::vector<double> numbers;
    for (std::size_t i = 0; i < size; ++i)
      numbers.push_back(std::visit(
          [](const auto &number) -> double {
            if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(number)>>)
              return static_cast<double>(number);
            else
              return 0; // no text or array comes here
          },
          value(kind)));
    return numbers;
  }

  const std::vector<std::uint8_t> &bytes_;
  std::size_t at_ = 0;
};

} // namespace

Gguf Gguf::read(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw FileError(path + ": can't be opened");
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char *>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size())))
    throw FileError(path + ": can't be read");
  try {
    return Gguf(std::move(bytes));
  } catch (const FileError &error) {
    throw FileError(path + ": " + error.what());
  }
}

Gguf::Gguf(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {
  Cursor cursor(bytes_);
  if (cursor.left() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0)
    cursor.fail("this is no GGUF file: it does not begin with GGUF");
  cursor.skip(4);
  const auto version = cursor.number<std::uint32_t>();
  if (version != 2 && version != 3)
    cursor.fail("version " + std::to_string(version) + "; versions 2 and 3 are read");
  const std::size_t tensors = cursor.count("tensors", 24), keys = cursor.count("keys", 13);
  for (std::size_t i = 0; i < keys; ++i) {
    std::string key = cursor.text();
    Value value = cursor.value();
    if (!values_.emplace(key, std::move(value)).second)
      cursor.fail("the key " + key + " comes a second time");
  }
  std::map<std::string, std::uint64_t> offsets;
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::string name = cursor.text();
    const auto rank = cursor.number<std::uint32_t>();
    if (rank < 1 || rank > 4)
      cursor.fail("the tensor " + name + " has " + std::to_string(rank) + " extents; 1 to 4");
    TensorInfo info{};
    std::int64_t rows = 1;
    for (std::uint32_t mode = 0; mode < rank; ++mode) {
      info.shape.push_back(cursor.number<std::int64_t>());
      if (info.shape.back() < 1 || info.shape.back() > std::int64_t(1) << 30)
        cursor.fail("the tensor " + name + " has an extent of " +
                    std::to_string(info.shape.back()));
      if (mode > 0 && (rows *= info.shape.back()) > std::int64_t(1) << 30)
        cursor.fail("the tensor " + name + " has more than 2^30 rows");
    }
    const auto type = cursor.number<std::uint32_t>();
    const auto format = fk::ggml_format(type);
    if (!format)
      cursor.fail("the tensor " + name + " is of ggml's type " + std::to_string(type) +
                  "; this program reads F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K and Q6_K");
    info.format = *format;
    const fk::GgmlBlock block = fk::ggml_block(*format);
    if (info.shape[0] % block.weights && rank > 1)
      cursor.fail("the tensor " + name + " has rows of " + std::to_string(info.shape[0]) +
                  ", no whole blocks of " + std::string(block.name));
    info.bytes = static_cast<std::size_t>((rows * info.shape[0] + block.weights - 1) /
                                          block.weights * block.bytes);
    if (*format == fk::GgmlFormat::f32) // vectors have any length
      info.bytes = static_cast<std::size_t>(rows * info.shape[0] * 4);
    offsets[name] = cursor.number<std::uint64_t>();
    if (!tensors_.emplace(name, info).second)
      cursor.fail("the tensor " + name + " comes a second time");
  }
  const auto align = static_cast<std::size_t>(
      values_.contains("general.alignment") ? number("general.alignment", 1, 1 << 20) : 32);
  cursor.skip((align - cursor.place() % align) % align);
  for (auto &[name, info] : tensors_) {
    const std::uint64_t offset = offsets[name];
    if (offset % align || offset > cursor.left() || info.bytes > cursor.left() - offset)
      cursor.fail("the tensor " + name + " has " + std::to_string(info.bytes) +
                  " bytes at offset " + std::to_string(offset) +
                  ", which is outside of the file or no multiple of " + std::to_string(align));
    info.data = bytes_.data() + cursor.place() + offset;
  }
}

std::int64_t Gguf::number(const std::string &key, std::int64_t least, std::int64_t most) const {
  const auto value = get<std::int64_t>(key);
  if (value < least || value > most)
    throw FileError("the key " + key + " is " + std::to_string(value) + "; " +
                    std::to_string(least) + " to " + std::to_string(most) + " is expected");
  return value;
}

const TensorInfo &Gguf::tensor(const std::string &name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw FileError("the file has no tensor " + name);
  return found->second;
}

} // namespace llama
