// file_fuzz SECONDS SEED OBJECT...: damages files of each kind and reads the results. The objects are
// code objects; the other files are made here.
// file_fuzz corpus OBJECT... FOLDER: writes the files undamaged, as libFuzzer's first inputs.
#include "file_target.h"

#include "cache/entry.h"
#include "jit/code_object/code_object.h"
#include "runtime/aot_file.h"
#include "runtime/tensor_words.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace flydsl;
using fuzz::FileKind;

namespace {

using Bytes = std::vector<std::uint8_t>;

template <class Content> Bytes input(FileKind kind, const Content &content) {
  Bytes bytes(1, static_cast<std::uint8_t>(kind));
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

jit::CodeObject someMetadata() {
  jit::CodeObject object;
  object.target = "gfx942:xnack-";
  jit::KernelMetadata kernel;
  kernel.name = "k";
  kernel.arguments = {{0, 8, "global_buffer", "a"}, {8, 4, "hidden_block_count_x", ""}};
  object.kernels = {kernel, jit::KernelMetadata{}};
  return object;
}

/// A kernel of a tensor, a number and a pointer, made for two constants and a static value.
runtime::AotCode someAotCode() {
  using detail::ArgPack;
  const std::uint64_t f32 = static_cast<std::uint64_t>(DType::Kind::f32) << runtime::kDtypeAt;
  runtime::AotCode code;
  code.kernel = "gemm";
  code.variant = "64x64";
  code.facts.name = "gemm_0";
  code.facts.target = Target::parse("gfx942");
  code.words = {256,
                ArgPack::tensorTag | f32 | 2ull << runtime::kRankAt | 1ull << runtime::kShapeWordAt,
                64, ArgPack::scalarTag | f32, ArgPack::pointerTag | f32};
  code.constants = {ArgPack::constantTag, 4, ArgPack::staticTag, 1, 2, ArgPack::textTag | 6ull << 4,
                    0x747865742061};
  code.image = {1, 2, 3};
  return code;
}

bool readFile(const char *path, Bytes &bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return !bytes.empty();
}

/// Throws std::runtime_error for an object that can't be read, and for a file that its reader does
/// not take.
std::vector<Bytes> seeds(char **firstObject, char **lastObject) {
  const Bytes metadata = jit::encodeMetadata(someMetadata());
  const cache::Blob blob{metadata, Bytes(1000, 7)};
  const runtime::AotCode code = someAotCode();
  runtime::AotCode second = code;
  second.variant = "32x32";
  const std::vector<runtime::AotCode> codes{code, second};
  std::vector<Bytes> all{input(FileKind::cacheEntry, cache::encodeEntry({1, 2}, blob)),
                         input(FileKind::cacheEntry, cache::encodeEntry({3, 4}, {})),
                         input(FileKind::aot, runtime::encodeAot({&code, 1})),
                         input(FileKind::aot, runtime::encodeAot(codes)),
                         input(FileKind::metadata, metadata)};
  for (const char *url :
       {"redis://user@host:6379/2", "rediss://[::1]:1", "redis+unix:///path/to/socket"})
    all.push_back(input(FileKind::remoteUrl, std::string_view(url)));
  for (const char *format : {"%d %5.2f %*d|%-*d", "%s: %lx %hhu %c%%", "%p %n %e"}) {
    std::string message(format, std::strlen(format) + 1);
    message.resize((message.size() + 7) / 8 * 8);
    for (int i = 0; i < 6; ++i)
      message.append("text\0\0\0", 8);
    all.push_back(input(FileKind::printf, message));
  }
  for (char **path = firstObject; path != lastObject; ++path) {
    Bytes object;
    if (!readFile(*path, object))
      throw std::runtime_error(std::string(*path) + " can't be read");
    all.push_back(input(FileKind::codeObject, object));
  }
  for (const Bytes &bytes : all)
    if (!fuzz::runFile(bytes.data(), bytes.size()))
      throw std::runtime_error("a file of kind " + std::to_string(bytes[0]) +
                               " is not taken undamaged");
  return all;
}

bool writeCorpus(const std::vector<Bytes> &files, const std::string &folder) {
  bool good = true;
  for (std::size_t n = 0; n < files.size(); ++n) {
    std::ofstream out(folder + "/" + std::to_string(n), std::ios::binary);
    out.write(reinterpret_cast<const char *>(files[n].data()),
              static_cast<std::streamsize>(files[n].size()));
    good &= static_cast<bool>(out.flush());
  }
  return good;
}

class Damage {
public:
  explicit Damage(unsigned seed) : random_(seed) {}

  Bytes apply(const std::vector<Bytes> &seeds) {
    Bytes bytes = seeds[below(seeds.size())];
    for (std::size_t n = 1 + below(4); n && bytes.size() > 1; --n)
      change(bytes);
    return bytes;
  }

private:
  std::size_t below(std::size_t n) { return random_() % n; }

  /// The first byte stays.
  void change(Bytes &bytes) {
    static constexpr std::uint64_t kNumbers[] = {0,          1,          0xff,       0xffff,
                                                 0x7fffffff, 0xffffffff, ~0ull >> 1, ~0ull};
    const std::size_t at = 1 + below(bytes.size() - 1);
    switch (below(4)) {
    case 0:
      bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
      break;
    case 1:
      bytes[at] = static_cast<std::uint8_t>(random_());
      break;
    case 2: {
      const std::uint64_t number = kNumbers[below(std::size(kNumbers))];
      std::memcpy(bytes.data() + at, &number,
                  std::min(std::size_t(1) << below(4), bytes.size() - at));
      break;
    }
    default:
      if (below(4) == 0)
        bytes.resize(at);
    }
  }

  std::mt19937_64 random_;
};

int run(int seconds, unsigned seed, const std::vector<Bytes> &files) {
  Damage damage(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  unsigned long cases = 0, taken = 0;
  Bytes bytes;
  try {
    for (; std::chrono::steady_clock::now() < end; ++cases) {
      bytes = damage.apply(files);
      taken += fuzz::runFile(bytes.data(), bytes.size());
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "after %lu cases: %s\n", cases, error.what());
    for (std::uint8_t byte : bytes)
      std::fprintf(stderr, "%02x", byte);
    std::fprintf(stderr, "\n");
    return 1;
  }
  std::printf("%lu damaged files, %lu of them taken\n", cases, taken);
  return cases > 10 && taken && taken < cases ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const bool corpus = argc >= 3 && std::string_view(argv[1]) == "corpus";
  if (argc < 3) {
    std::fprintf(
        stderr,
        "usage: file_fuzz SECONDS SEED OBJECT...\n       file_fuzz corpus OBJECT... FOLDER\n");
    return 2;
  }
  try {
    if (corpus)
      return writeCorpus(seeds(argv + 2, argv + argc - 1), argv[argc - 1]) ? 0 : 1;
    return run(std::atoi(argv[1]), static_cast<unsigned>(std::atol(argv[2])),
               seeds(argv + 3, argv + argc));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "file_fuzz: %s\n", error.what());
    return 2;
  }
}
