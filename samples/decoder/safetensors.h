// A file of tensors, as Hugging Face's safetensors writes it
// (https://huggingface.co/docs/safetensors, "Format"): the length of a header in 8 bytes, the header
// as JSON with a type, a shape and a range of bytes for each name, and the bytes.
//
// A file comes from outside. Everything in it is checked before it is used, and what does not fit
// is refused by a FileError that says what was found.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/host/host_float.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace decoder {

namespace fx = flydsl;

/// A file that can't be used, and why.
class FileError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// All bytes of a file.
inline std::vector<std::uint8_t> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
  // A folder opens like a file, and has a size that no file has.
  if (size < 0 || size > std::streamoff(1) << 48)
    throw FileError(path + ": can't be opened");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char *>(bytes.data()), size))
    throw FileError(path + ": can't be read");
  return bytes;
}

/// JSON in which no object has a name twice. Throws FileError with the place of a mistake.
inline nlohmann::json parseJson(std::string_view text, const std::string &what) {
  std::vector<std::set<std::string>> names; // of the objects around the current place
  std::string twice;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json &value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start)
      names.emplace_back();
    else if (event == Event::object_end)
      names.pop_back();
    else if (event == Event::key && !names.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  try {
    nlohmann::json parsed = nlohmann::json::parse(text, watch);
    if (!twice.empty())
      throw FileError(what + " has the name " + twice + " twice");
    if (!parsed.is_object())
      throw FileError(what + " is no object of JSON");
    return parsed;
  } catch (const nlohmann::json::exception &error) {
    throw FileError(what + " is no JSON: " + error.what());
  }
}

/// A type of the format, and the one that this library has for it, if the program takes it.
struct StoredType {
  std::string_view name;
  int bytes;
};
inline constexpr StoredType kStoredTypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
    {"F32", 4},  {"F64", 8}, {"I64", 8}, {"U64", 8},     {"C64", 8},
};

struct StoredTensor {
  const StoredType *type;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

/// "[4, 64]"
inline std::string shapeText(std::span<const std::int64_t> shape) {
  std::string text;
  for (std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

class SafeTensors {
public:
  /// Takes the bytes of a file. `name` is what messages call it.
  SafeTensors(std::vector<std::uint8_t> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof(length))
      refuse("has " + std::to_string(bytes_.size()) + " bytes; its header's length alone is 8");
    static_assert(std::endian::native == std::endian::little, "the format's numbers are so");
    std::memcpy(&length, bytes_.data(), sizeof(length));
    const std::uint64_t left = bytes_.size() - sizeof(length);
    if (length > left)
      refuse("has a header of " + std::to_string(length) + " bytes, and after its length " +
             std::to_string(left) + " bytes");
    const std::string_view header(reinterpret_cast<const char *>(bytes_.data()) + sizeof(length),
                                  std::size_t(length));
    const auto data = std::span<const std::uint8_t>(bytes_).subspan(sizeof(length) + length);
    const nlohmann::json entries = parseJson(header, name_ + "'s header");
    for (const auto &[tensor, entry] : entries.items())
      if (tensor != "__metadata__")
        add(tensor, entry, data);
    expectNoOverlap(data);
  }
  static SafeTensors read(const std::string &path) { return {readFile(path), path}; }
  /// The tensors of a model's folder: those of model.safetensors, or of the files that
  /// model.safetensors.index.json names, as those of one.
  static SafeTensors readModel(const std::string &folder) {
    const std::string one = folder + "/model.safetensors", index = one + ".index.json";
    if (std::filesystem::exists(one) || !std::filesystem::exists(index))
      return read(one);
    const std::vector<std::uint8_t> text = readFile(index);
    const nlohmann::json entries = parseJson(
        std::string_view(reinterpret_cast<const char *>(text.data()), text.size()), index);
    const auto map = entries.find("weight_map");
    if (map == entries.end() || !map->is_object() || map->empty())
      throw FileError(index + " has no weight_map, which names the file of each tensor");
    std::map<std::string, std::set<std::string>> files;
    for (const auto &[tensor, file] : map->items()) {
      if (!file.is_string() || file.get<std::string>().find_first_of("/\\") != std::string::npos)
        throw FileError(index + " has " + tensor + " in " + file.dump() +
                        "; a file of the same folder is expected");
      files[file.get<std::string>()].insert(tensor);
    }
    SafeTensors all(index);
    for (const auto &[file, tensors] : files)
      all.take(read(folder + "/" + file), tensors);
    return all;
  }

  const std::string &name() const { return name_; }
  bool has(const std::string &tensor) const { return tensors_.contains(tensor); }
  /// The tensor of a name, whose shape is as expected.
  const StoredTensor &tensor(const std::string &tensor, std::span<const std::int64_t> shape) const {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end())
      refuse("has no tensor " + tensor);
    if (!std::ranges::equal(found->second.shape, shape))
      refuse("has " + tensor + " of shape " + shapeText(found->second.shape) + "; " +
             shapeText(shape) + " is expected");
    used_.insert(tensor);
    return found->second;
  }
  /// The elements of a tensor in BF16: as they are in the file, or rounded from F32 or F16.
  std::span<const std::uint8_t> bf16(const std::string &name,
                                     std::span<const std::int64_t> shape) const {
    const StoredTensor &stored = tensor(name, shape);
    if (stored.type->name == "BF16")
      return stored.bytes;
    const std::vector<float> values = floats(name, shape);
    std::vector<std::uint8_t> &made = made_.emplace_back(values.size() * sizeof(fx::bfloat16_t));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const fx::bfloat16_t rounded(values[i]);
      std::memcpy(&made[i * sizeof(rounded)], &rounded, sizeof(rounded));
      rounded_ |= float(rounded) != values[i];
    }
    return made;
  }
  /// Whether bf16 above has given another number than the file has.
  bool rounded() const { return rounded_; }
  /// The elements of a tensor of F32, BF16 or F16.
  std::vector<float> floats(const std::string &name, std::span<const std::int64_t> shape) const {
    const StoredTensor &found = tensor(name, shape);
    const auto as = [&]<class T>(T) {
      std::vector<T> values(found.bytes.size() / sizeof(T));
      std::ranges::copy(std::as_bytes(found.bytes),
                        std::as_writable_bytes(std::span(values)).data());
      return std::vector<float>(values.begin(), values.end());
    };
    if (found.type->name == "F32")
      return as(float());
    if (found.type->name == "BF16")
      return as(fx::bfloat16_t());
    if (found.type->name == "F16")
      return as(fx::half_t());
    refuse("has " + name + " in " + std::string(found.type->name) +
           "; this program takes weights in BF16, F16 or F32");
  }
  /// Refuses a file with a tensor that no call above asked for: it would be a part of the model
  /// that the program leaves out.
  void expectAllUsed() const {
    for (const auto &[tensor, stored] : tensors_)
      if (!used_.contains(tensor))
        refuse("has the tensor " + tensor + ", which this program does not use");
  }

private:
  explicit SafeTensors(std::string name) : name_(std::move(name)) {}
  [[noreturn]] void refuse(const std::string &what) const { throw FileError(name_ + " " + what); }

  /// Takes a file's tensors, which are to be these.
  void take(SafeTensors file, const std::set<std::string> &tensors) {
    for (const std::string &tensor : tensors)
      if (!file.has(tensor))
        refuse("has " + tensor + " in " + file.name_ + ", which does not have it");
    for (const auto &[tensor, stored] : file.tensors_)
      if (!tensors.contains(tensor))
        refuse("does not have " + tensor + " of " + file.name_);
    tensors_.merge(file.tensors_);
    files_.push_back(std::move(file.bytes_)); // whose bytes stay where they are
  }

  void add(const std::string &tensor, const nlohmann::json &entry,
           std::span<const std::uint8_t> data) {
    const auto whole = [&](const nlohmann::json &value, const char *what) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t(1) << 56)
        refuse("has " + tensor + " with " + what + " " + value.dump() +
               "; a whole number is expected");
      return value.get<std::uint64_t>();
    };
    const auto field = [&](const char *key, bool (nlohmann::json::*is)() const noexcept) {
      if (!entry.is_object() || !entry.contains(key) || !(entry[key].*is)())
        refuse("has " + tensor + " without " + key);
      return entry[key];
    };
    const auto type = field("dtype", &nlohmann::json::is_string).get<std::string>();
    const auto *found = std::ranges::find(kStoredTypes, type, &StoredType::name);
    if (found == std::end(kStoredTypes))
      refuse("has " + tensor + " of type " + type + ", which this program does not know");
    StoredTensor stored{.type = found, .shape = {}, .bytes = {}};
    std::uint64_t size = std::uint64_t(found->bytes);
    for (const nlohmann::json &extent : field("shape", &nlohmann::json::is_array)) {
      stored.shape.push_back(std::int64_t(whole(extent, "an extent of")));
      if (__builtin_mul_overflow(size, std::uint64_t(stored.shape.back()), &size))
        refuse("has " + tensor + " of shape " + shapeText(stored.shape) +
               ", more than there are bytes");
    }
    const nlohmann::json offsets = field("data_offsets", &nlohmann::json::is_array);
    if (offsets.size() != 2)
      refuse("has " + tensor + " with data_offsets " + offsets.dump() + "; two are expected");
    const std::uint64_t begin = whole(offsets[0], "a first byte of"),
                        end = whole(offsets[1], "a last byte of");
    if (begin > end || end > data.size())
      refuse("has " + tensor + " in bytes " + std::to_string(begin) + " to " + std::to_string(end) +
             " of " + std::to_string(data.size()));
    if (end - begin != size)
      refuse("has " + tensor + " in " + std::to_string(end - begin) + " bytes; its shape " +
             shapeText(stored.shape) + " of " + type + " has " + std::to_string(size));
    stored.bytes = data.subspan(std::size_t(begin), std::size_t(size));
    tensors_.emplace(tensor, std::move(stored));
  }

  void expectNoOverlap(std::span<const std::uint8_t> data) const {
    std::vector<std::pair<std::span<const std::uint8_t>, const std::string *>> ranges;
    for (const auto &[tensor, stored] : tensors_)
      ranges.emplace_back(stored.bytes, &tensor);
    std::ranges::sort(ranges, {}, [](const auto &range) {
      return std::pair(range.first.data(), range.first.size());
    });
    const std::uint8_t *at = data.data();
    const std::string *before = nullptr;
    for (const auto &[bytes, tensor] : ranges) {
      if (bytes.data() < at)
        refuse("has " + *tensor + " and " + *before + " in the same bytes");
      if (bytes.data() > at)
        refuse("has " + std::to_string(bytes.data() - at) + " bytes before " + *tensor +
               " that belong to no tensor");
      at += bytes.size();
      before = tensor;
    }
    if (at != data.data() + data.size())
      refuse("has " + std::to_string(data.data() + data.size() - at) +
             " bytes at its end that belong to no tensor");
  }

  std::vector<std::uint8_t> bytes_;
  std::vector<std::vector<std::uint8_t>> files_; ///< of several files
  std::string name_;
  std::map<std::string, StoredTensor> tensors_;
  mutable std::set<std::string> used_;
  mutable std::deque<std::vector<std::uint8_t>> made_; ///< tensors that were rounded
  mutable bool rounded_ = false;
};

} // namespace decoder
