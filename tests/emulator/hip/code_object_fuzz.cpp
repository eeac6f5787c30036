// code_object_fuzz SECONDS SEED FILE...: damages the files at random and runs each result. The
// current case is kept in code_object_fuzz.last, so that a crash leaves its input behind.
#include "code_object_target.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

class Damage {
public:
  explicit Damage(unsigned seed) : random_(seed) {}

  Bytes apply(const std::vector<Bytes> &seeds) {
    Bytes bytes = seeds[below(seeds.size())];
    for (size_t n = 1 + below(6); n && !bytes.empty(); --n)
      change(bytes, seeds);
    return bytes;
  }

private:
  size_t below(size_t n) { return random_() % n; }

  void change(Bytes &bytes, const std::vector<Bytes> &seeds) {
    static constexpr uint64_t kNumbers[] = {0,          1,          0x7f,       0xff,
                                            0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                            1ull << 40, ~0ull >> 1, 1ull << 63, ~0ull};
    // Headers and tables, at the front, are as likely as all the rest.
    const size_t range = below(2) ? bytes.size() : std::min<size_t>(bytes.size(), 4096);
    const size_t at = below(range);
    switch (below(6)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1u << below(8));
      break;
    case 1:
      bytes[at] = static_cast<uint8_t>(random_());
      break;
    case 2: {
      const uint64_t number = kNumbers[below(std::size(kNumbers))];
      const size_t aligned = at / 8 * 8, width = size_t(1) << below(4);
      std::memcpy(bytes.data() + aligned, &number, std::min(width, bytes.size() - aligned));
      break;
    }
    case 3: { // a piece of another place or file
      const Bytes &from = seeds[below(seeds.size())];
      const size_t start = below(from.size());
      const size_t count = std::min({1 + below(64), from.size() - start, bytes.size() - at});
      std::memcpy(bytes.data() + at, from.data() + start, count);
      break;
    }
    case 4: // noise over a few instructions
      for (size_t i = at; i < std::min(bytes.size(), at + 16); ++i)
        bytes[i] = static_cast<uint8_t>(random_());
      break;
    default:
      if (below(8) == 0)
        bytes.resize(at);
      break;
    }
  }

  std::mt19937_64 random_;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: code_object_fuzz SECONDS SEED FILE...\n");
    return 2;
  }
  std::vector<Bytes> seeds;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (seeds.back().empty()) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    if (!flyemu::fuzz::runCodeObject(seeds.back().data(), seeds.back().size())) {
      std::fprintf(stderr, "%s does not load undamaged\n", argv[i]);
      return 1;
    }
  }
  Damage damage(static_cast<unsigned>(std::atoi(argv[2])));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  unsigned long cases = 0, loaded = 0;
  while (std::chrono::steady_clock::now() < end) {
    const Bytes bytes = damage.apply(seeds);
    {
      std::ofstream last("code_object_fuzz.last", std::ios::binary);
      last.write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
    }
    loaded += flyemu::fuzz::runCodeObject(bytes.data(), bytes.size()) > 0;
    ++cases;
  }
  std::remove("code_object_fuzz.last");
  std::printf("%lu cases, %lu of them loaded\n", cases, loaded);
  return cases > 10 && loaded && loaded < cases ? 0 : 1;
}
