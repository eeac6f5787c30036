// Every length in a file is checked against what is left of the file before it is used.
#include "runtime/aot_file.h"

#include "runtime/tensor_words.h"

#include <bit>
#include <cstring>
#include <xxhash.h>

namespace flydsl::runtime {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr char kMagic[6] = {'F', 'L', 'Y', 'A', 'O', 'T'};
constexpr std::uint16_t kVersion = 5;

class Writer {
public:
  template <class T> void number(T value) { raw(&value, sizeof value); }
  template <class T> void array(const T *first, std::size_t count) {
    number(static_cast<std::uint32_t>(count));
    raw(first, count * sizeof(T));
  }
  void raw(const void *from, std::size_t size) {
    const auto *first = static_cast<const std::uint8_t *>(from);
    bytes.insert(bytes.end(), first, first + size);
  }
  std::vector<std::uint8_t> bytes;
};

class Reader {
public:
  explicit Reader(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class Array> Array array() {
    const std::size_t count = number<std::uint32_t>();
    using T = typename Array::value_type;
    if (count > left_.size() / sizeof(T))
      throw RuntimeError("it ends early");
    Array all(count, T{});
    if (count)
      std::memcpy(all.data(), take(count * sizeof(T)), count * sizeof(T));
    return all;
  }
  bool atEnd() const { return left_.empty(); }

private:
  const std::uint8_t *take(std::size_t size) {
    if (size > left_.size())
      throw RuntimeError("it ends early");
    const std::uint8_t *first = left_.data();
    left_ = left_.subspan(size);
    return first;
  }
  std::span<const std::uint8_t> left_;
};

/// Throws unless the words are those of whole arguments, all of them a launch's or none. What reads
/// the words later relies on the lengths in them.
void expectArguments(std::span<const std::uint64_t> words, bool ofLaunch) {
  while (!words.empty()) {
    const std::uint64_t head = words[0];
    if ((head & 15) == detail::ArgPack::tensorTag) {
      const auto rank = static_cast<unsigned>(field(head, kRankAt, 15));
      const std::uint64_t leaves =
          field(head, kShapeWordAt, 0xff) | field(head, kStrideWordAt, 0xff);
      if (rank > TensorArg::maxRank || leaves >> rank)
        throw RuntimeError("a tensor among the arguments of a kernel in it has no valid shape");
    }
    const std::size_t length = argumentWords(head);
    const bool isWhole = length != 0 && length <= words.size();
    if (!isWhole || isOfLaunch(head) != ofLaunch || (head == kPresenceHead && words[1] > 1))
      throw RuntimeError("the types of the arguments of a kernel in it are damaged");
    words = words.subspan(length);
  }
}

/// What the code of a kernel is for; another version of the library may know more processors.
Target targetOf(const std::string &id) {
  try {
    const Target target = Target::parse(id);
    if (target.id() != id)
      throw RuntimeError("the target of a kernel in it is not written as a target's id: " + id);
    return target;
  } catch (const CompileError &error) {
    throw RuntimeError("a kernel in it is for a target that this library does not have: " +
                       std::string(error.what()));
  }
}

} // namespace

std::string aotTitle(const std::string &kernel, const std::string &variant) {
  return kernel + (variant.empty() ? "" : ", variant " + variant);
}

std::string AotCode::title() const { return aotTitle(kernel, variant); }

bool AotCode::takesThePlaceOf(const AotCode &other) const {
  return kernel == other.kernel && variant == other.variant && facts.target == other.facts.target &&
         words == other.words;
}

std::vector<std::uint8_t> encodeAot(std::span<const AotCode> codes) {
  Writer w;
  w.raw(kMagic, sizeof kMagic);
  w.number(kVersion);
  w.number(static_cast<std::uint32_t>(codes.size()));
  for (const AotCode &code : codes) {
    w.array(code.kernel.data(), code.kernel.size());
    w.array(code.variant.data(), code.variant.size());
    w.array(code.facts.name.data(), code.facts.name.size());
    const std::string target = code.facts.target.id();
    w.array(target.data(), target.size());
    w.number(std::uint64_t{code.facts.sharedBytes});
    w.number(std::uint64_t{code.facts.dynamicBytes});
    w.number(std::uint64_t{code.facts.maxSharedBytes});
    w.number(std::uint32_t{code.facts.maxBlock});
    for (unsigned extent : code.facts.block)
      w.number(std::uint32_t{extent});
    w.array(code.words.data(), code.words.size());
    w.array(code.constants.data(), code.constants.size());
    w.array(code.image.data(), code.image.size());
  }
  w.number(static_cast<std::uint64_t>(XXH3_64bits(w.bytes.data(), w.bytes.size())));
  return std::move(w.bytes);
}

std::vector<AotCode> decodeAot(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < sizeof kMagic + sizeof kVersion ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    throw RuntimeError("it is no file of compiled kernels");
  std::uint16_t found;
  std::memcpy(&found, bytes.data() + sizeof kMagic, sizeof found);
  if (found != kVersion)
    throw RuntimeError("it has version " + std::to_string(found) + "; this library reads version " +
                       std::to_string(kVersion) +
                       (found < kVersion
                            ? ". Export the kernels again with this library"
                            : ". It was written by a newer library; load it with that"));
  std::uint64_t sum = 0;
  if (bytes.size() < sizeof kMagic + sizeof kVersion + sizeof sum)
    throw RuntimeError("it ends early");
  const std::span<const std::uint8_t> summed = bytes.first(bytes.size() - sizeof sum);
  std::memcpy(&sum, bytes.data() + summed.size(), sizeof sum);
  if (sum != XXH3_64bits(summed.data(), summed.size()))
    throw RuntimeError("its checksum is wrong: it is damaged or not whole");

  Reader r(summed.subspan(sizeof kMagic + sizeof kVersion));
  std::vector<AotCode> codes;
  for (auto count = r.number<std::uint32_t>(); count; --count) {
    AotCode &code = codes.emplace_back();
    code.kernel = r.array<std::string>();
    code.variant = r.array<std::string>();
    code.facts.name = r.array<std::string>();
    code.facts.target = targetOf(r.array<std::string>());
    code.facts.sharedBytes = r.number<std::uint64_t>();
    code.facts.dynamicBytes = r.number<std::uint64_t>();
    code.facts.maxSharedBytes = r.number<std::uint64_t>();
    code.facts.maxBlock = r.number<std::uint32_t>();
    for (unsigned &extent : code.facts.block)
      extent = r.number<std::uint32_t>();
    code.words = r.array<std::vector<std::uint64_t>>();
    code.constants = r.array<std::vector<std::uint64_t>>();
    code.image = r.array<std::vector<std::uint8_t>>();
    if (code.words.empty())
      throw RuntimeError("a kernel in it has no signature");
    expectArguments(std::span(code.words).subspan(1), true);
    expectArguments(code.constants, false);
  }
  if (!r.atEnd())
    throw RuntimeError("it goes on after its last kernel");
  return codes;
}

void splitWords(std::span<const std::uint64_t> signature, AotCode &code) {
  code.words.assign(1, signature[0]);
  code.constants.clear();
  for (std::size_t at = 1; at < signature.size();) {
    const std::uint64_t head = signature[at];
    const std::size_t length = argumentWords(head);
    const auto part = signature.subspan(at, length);
    auto &to = isOfLaunch(head) ? code.words : code.constants;
    to.insert(to.end(), part.begin(), part.end());
    at += length;
  }
}

} // namespace flydsl::runtime
