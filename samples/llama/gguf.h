// A GGUF file: the model's numbers and texts by key, and its tensors by name.
//
// The format's source is docs/gguf.md of ggml (github.com/ggml-org/ggml), versions 2 and 3,
// little-endian. A file comes from outside: each length is compared with what is left of the file
// before anything is read or allocated, and what does not fit is refused with its place.
#pragma once

#include <flydsl/kernels/ggml.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace llama {

/// A file that is damaged, or of a kind that this program does not run; the message says what and
/// where.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value of a key: a whole number, a number, a truth, a text, or an array of numbers or texts.
using Value = std::variant<std::int64_t, double, bool, std::string, std::vector<double>,
                           std::vector<std::string>>;

/// A tensor; the file has its fastest extent first.
struct TensorInfo {
  std::vector<std::int64_t> shape;
  flydsl::kernels::GgmlFormat format;
  const std::uint8_t *data; ///< inside the file
  std::size_t bytes;
};

class Gguf {
public:
  /// Reads a file. Throws FileError.
  static Gguf read(const std::string &path);
  /// The same of bytes.
  explicit Gguf(std::vector<std::uint8_t> bytes);
  Gguf(Gguf &&) = default;

  /// The value of a key as T. Throws FileError if there is no such key, or if it is of another kind.
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
  std::int64_t number(const std::string &key, std::int64_t least, std::int64_t most) const;
  /// A tensor. Throws FileError if there is none.
  const TensorInfo &tensor(const std::string &name) const;
  bool has(const std::string &name) const { return tensors_.contains(name); }

private:
  std::vector<std::uint8_t> bytes_; // TensorInfo::data points into it: a move keeps its place
  std::map<std::string, Value> values_;
  std::map<std::string, TensorInfo> tensors_;
};

} // namespace llama
