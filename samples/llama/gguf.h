// A GGUF file: the model's numbers and texts by key, and its tensors by name.
//
// The format's source is docs/gguf.md of ggml (github.com/ggml-org/ggml), versions 2 and 3,
// little-endian. A file comes from outside: each length is compared with what is left of the file
// before anything is read or allocated, and what does not fit is refused with its place.
#pragma once

#include <flydsl/kernels/ggml.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace llama {

namespace fx = flydsl;
namespace fk = flydsl::kernels;

/// A file that is damaged, or of a kind that this program does not run; the message says what and
/// where.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value of a key: a number, a text, or an array of numbers or texts. A truth is 0 or 1.
using Value = std::variant<double, std::string, std::vector<double>, std::vector<std::string>>;

/// A tensor; the file has its fastest extent first.
struct TensorInfo {
  std::vector<std::int64_t> shape = {};
  fk::GgmlFormat format = {};
  std::size_t bytes = 0;
  const std::uint8_t *data = nullptr; ///< inside the file
};

/// Walks over the bytes of a file, and never past their end.
class Cursor {
public:
  explicit Cursor(const std::vector<std::uint8_t> &bytes) : bytes_(bytes) {}

  std::size_t place() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(const std::string &what) const {
    throw FileError("at byte " + std::to_string(at_) + ": " + what);
  }
  const std::uint8_t *skip(std::uint64_t bytes, const char *what) {
    if (bytes > left())
      fail(std::string(what) + " of " + std::to_string(bytes) + " bytes, of which the file has " +
           std::to_string(left()));
    at_ += bytes;
    return bytes_.data() + at_ - bytes;
  }
  template <class T> T number() {
    T value;
    std::memcpy(&value, skip(sizeof value, "a number"), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    return {reinterpret_cast<const char *>(skip(size, "a text")), size};
  }
  /// A count of things that take `least` bytes each at least.
  std::size_t count(const char *of, std::size_t least) {
    const auto found = number<std::uint64_t>();
    if (found > left() / least)
      fail(std::to_string(found) + " " + of + ", for which the file has " + std::to_string(left()) +
           " bytes left");
    return found;
  }

private:
  const std::vector<std::uint8_t> &bytes_;
  std::size_t at_ = 0;
};

template <class T> double numberOf(Cursor &cursor) { return double(cursor.number<T>()); }
/// How numbers are read, by the kinds of values in a file; two kinds are no numbers.
inline constexpr double (*kNumbers[])(Cursor &) = {numberOf<std::uint8_t>,
                                                   numberOf<std::int8_t>,
                                                   numberOf<std::uint16_t>,
                                                   numberOf<std::int16_t>,
                                                   numberOf<std::uint32_t>,
                                                   numberOf<std::int32_t>,
                                                   numberOf<float>,
                                                   numberOf<std::uint8_t>,
                                                   nullptr,
                                                   nullptr,
                                                   numberOf<std::uint64_t>,
                                                   numberOf<std::int64_t>,
                                                   numberOf<double>};
inline constexpr std::uint32_t kText = 8, kArray = 9;

inline Value valueAt(Cursor &cursor) {
  auto kind = cursor.number<std::uint32_t>();
  const bool array = kind == kArray;
  if (array)
    kind = cursor.number<std::uint32_t>();
  const auto number = kind < std::size(kNumbers) ? kNumbers[kind] : nullptr;
  if (!number && kind != kText)
    cursor.fail("a value of kind " + std::to_string(kind) + (array ? " in an array" : ""));
  if (!array)
    return number ? Value(number(cursor)) : Value(cursor.text());
  const std::size_t size = cursor.count("elements of an array", number ? 1 : 8);
  std::vector<double> numbers;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < size; ++i)
    if (number)
      numbers.push_back(number(cursor));
    else
      texts.push_back(cursor.text());
  return number ? Value(std::move(numbers)) : Value(std::move(texts));
}

/// What the file says of a tensor; where its bytes are comes later.
inline TensorInfo tensorAt(Cursor &cursor, const std::string &name) {
  TensorInfo info;
  const auto refuse = [&](const std::string &what) { cursor.fail("the tensor " + name + what); };
  const auto rank = cursor.number<std::uint32_t>();
  if (rank < 1 || rank > 4)
    refuse(" has " + std::to_string(rank) + " extents; 1 to 4");
  std::int64_t weights = 1;
  for (std::uint32_t mode = 0; mode < rank; ++mode) {
    const auto extent = cursor.number<std::int64_t>();
    if (extent < 1 || extent > (std::int64_t(1) << 40) / weights)
      refuse(" has an extent of " + std::to_string(extent) + "; a tensor has 1 to 2^40 weights");
    info.shape.push_back(extent);
    weights *= extent;
  }
  const auto type = cursor.number<std::uint32_t>();
  const auto format = fk::ggml_format(type);
  if (!format)
    refuse(" is of ggml's type " + std::to_string(type) +
           "; this program reads F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K, IQ4_NL, IQ4_XS and "
           "MXFP4");
  info.format = *format;
  const fk::GgmlBlock block = fk::ggml_block(*format);
  if (rank > 1 && info.shape[0] % block.weights)
    refuse(" has rows of " + std::to_string(info.shape[0]) + ", no whole blocks of " +
           std::string(block.name));
  info.bytes = std::size_t(weights * block.bytes / block.weights);
  return info;
}

class Gguf {
public:
  /// Reads a file. Throws FileError.
  static Gguf read(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file || std::filesystem::is_directory(path))
      throw FileError(path + ": can't be opened");
    std::vector<std::uint8_t> bytes(std::size_t(std::max<std::streamoff>(file.tellg(), 0)));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char *>(bytes.data()), std::streamsize(bytes.size())))
      throw FileError(path + ": can't be read");
    try {
      return Gguf(std::move(bytes));
    } catch (const FileError &error) {
      throw FileError(path + ": " + error.what());
    }
  }

  /// The same of bytes.
  explicit Gguf(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {
    Cursor cursor(bytes_);
    if (bytes_.size() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0)
      cursor.fail("this is no GGUF file: it does not begin with GGUF");
    cursor.skip(4, "a name");
    const auto version = cursor.number<std::uint32_t>();
    if (version != 2 && version != 3)
      cursor.fail("version " + std::to_string(version) + "; versions 2 and 3 are read");
    const std::size_t tensors = cursor.count("tensors", 24), keys = cursor.count("keys", 13);
    for (std::size_t i = 0; i < keys; ++i) {
      const std::string key = cursor.text();
      if (!values_.emplace(key, valueAt(cursor)).second)
        cursor.fail("the key " + key + " comes a second time");
    }
    std::map<std::string, std::uint64_t> offsets;
    for (std::size_t i = 0; i < tensors; ++i) {
      const std::string name = cursor.text();
      if (!tensors_.emplace(name, tensorAt(cursor, name)).second)
        cursor.fail("the tensor " + name + " comes a second time");
      offsets[name] = cursor.number<std::uint64_t>();
    }
    const auto align = std::size_t(whole("general.alignment", 1, 1 << 20, 32));
    cursor.skip((align - cursor.place() % align) % align, "a gap before the tensors");
    for (auto &[name, info] : tensors_) {
      const std::uint64_t offset = offsets[name];
      if (offset % align || offset > cursor.left() || info.bytes > cursor.left() - offset)
        cursor.fail("the tensor " + name + " has " + std::to_string(info.bytes) +
                    " bytes at offset " + std::to_string(offset) +
                    ", which is outside of the file or no multiple of " + std::to_string(align));
      info.data = bytes_.data() + cursor.place() + offset;
    }
  }

  Gguf(Gguf &&) = default;

  /// The value of a key as T. Throws FileError if there is no such
  /// key, or if it is of another kind.
  template <class T> const T &get(const std::string &key) const {
    const auto found = values_.find(key);
    if (found == values_.end())
      throw FileError("the file has no key " + key);
    if (const T *value = std::get_if<T>(&found->second))
      return *value;
    throw FileError("the key " + key + " has a value of another type than expected");
  }
  template <class T> T get(const std::string &key, const T &otherwise) const {
    return values_.contains(key) ? get<T>(key) : otherwise;
  }
  /// A whole number from `least` to `most`.
  std::int64_t whole(const std::string &key, std::int64_t least, std::int64_t most) const {
    const auto value = get<double>(key);
    if (!(value >= double(least) && value <= double(most)) ||
        value != double(std::int64_t(value))) {
      std::ostringstream text;
      text << "the key " << key << " is " << value << "; a whole number from " << least << " to "
           << most << " is expected";
      throw FileError(text.str());
    }
    return std::int64_t(value);
  }

  std::int64_t whole(const std::string &key, std::int64_t least, std::int64_t most,
                     std::int64_t otherwise) const {
    return values_.contains(key) ? whole(key, least, most) : otherwise;
  }
  /// A tensor. Throws FileError if there is none.
  const TensorInfo &tensor(const std::string &name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      throw FileError("the file has no tensor " + name);
    return found->second;
  }

  bool has(const std::string &name) const { return tensors_.contains(name); }

private:
  std::vector<std::uint8_t> bytes_; // TensorInfo::data points into it: a move keeps its place
  std::map<std::string, Value> values_;
  std::map<std::string, TensorInfo> tensors_;
};

} // namespace llama
