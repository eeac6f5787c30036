// Launches a kernel out of damaged files whose checksum is right, each in a process of its own. A
// file is refused, its kernel faults or is ended, or it gives what it gives; the process that
// launches it is not taken down. The file is aot_export's.
//   damaged_aot FILE FILES [SEED]   files with up to 8 changes that follow from the seed
//   damaged_aot FILE each           a file for each other value of each byte of the kernel's code
// Before these come files whose code ends the process if LLVM's disassembler is asked about it.
#include <flydsl/host/aot.h>
#include <flydsl/host/device_array.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include <xxhash.h>

namespace fx = flydsl;

namespace {

using Bytes = std::vector<unsigned char>;

enum Status : int { kRan = 10, kRefused, kFault };

constexpr int kBlock = 64, kCodes = 9, kElements = 4 * kBlock, kCodeBytes = 104, kOtherValues = 255;

struct Range {
  std::size_t first, size;
};

/// The instructions of the first code of the file, which is the one that is launched: it is gfx942's,
/// and ends in s_endpgm.
Range codeOf(const Bytes &bytes) {
  const unsigned char endOfProgram[] = {0x00, 0x00, 0x81, 0xbf};
  const auto at =
      std::search(bytes.begin(), bytes.end(), std::begin(endOfProgram), std::end(endOfProgram)) -
      bytes.begin();
  return {static_cast<std::size_t>(at) - kCodeBytes, kCodeBytes + sizeof endOfProgram};
}

/// The file with the checksum of what it has.
Bytes summed(Bytes bytes) {
  const std::size_t end = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t sum = XXH3_64bits(bytes.data(), end);
  std::memcpy(&bytes[end], &sum, sizeof sum);
  return bytes;
}

/// Changes bytes and words of the code, of its object and its row in the file, or of anything, by the
/// seed.
Bytes damaged(Bytes bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t end = bytes.size() - sizeof(std::uint64_t);
  const Range code = codeOf(bytes), object = {0, end / kCodes}, file = {0, end};
  const Range range = seed % 4 == 0 ? file : seed % 4 == 1 ? object : code;
  for (std::size_t n = 1 + below(8); n; --n) {
    const std::size_t at = range.first + below(range.size - 3);
    switch (below(3)) {
    case 0:
      bytes[at] ^= static_cast<unsigned char>(1u << below(8));
      break;
    case 1: {
      const auto word = static_cast<std::uint32_t>(random());
      std::memcpy(&bytes[at + ((code.first - at) & 3)], &word, sizeof word); // an instruction
      break;
    }
    default: {
      const std::uint32_t numbers[] = {0, 1, 0xff, 0x7fffffff, 0x80000000, 0xffffffff};
      std::memcpy(&bytes[at], &numbers[below(std::size(numbers))], 1 + below(4));
    }
    }
  }
  return summed(std::move(bytes));
}

struct Change {
  std::size_t at; ///< in the code
  unsigned char bits;
};
/// v_lshlrev_b64 becomes v_readlane_b32 and v_cmp_class_f32 with a literal in the place of their scalar
/// result.
constexpr std::array<std::array<Change, 3>, 2> kDeadly = {{
    {{{0x24, 0xff}, {0x26, 0x06}, {0x27, 0x00}}},
    {{{0x24, 0xff}, {0x26, 0x9f}, {0x27, 0x02}}},
}};

Bytes withChanges(Bytes bytes, std::span<const Change> changes) {
  const std::size_t first = codeOf(bytes).first;
  for (const Change &change : changes)
    bytes[first + change.at] ^= change.bits;
  return summed(std::move(bytes));
}

/// Gives one byte of the code another value.
Bytes withOtherByte(Bytes bytes, std::size_t number) {
  bytes[codeOf(bytes).first + number / kOtherValues] ^=
      static_cast<unsigned char>(1 + number % kOtherValues);
  return summed(std::move(bytes));
}

int launch(const Bytes &bytes) {
  try {
    const fx::AotModule module = fx::load_aot(bytes);
    auto x = fx::DeviceArray<float>::random({kElements}, 1),
         y = fx::DeviceArray<float>::random({kElements}, 2);
    fx::Stream stream;
    module.kernel("axpy_aot")(x, y, 0.25f)
        .launch({.grid = kElements / kBlock, .block = kBlock, .stream = stream});
    try {
      stream.synchronize();
    } catch (const fx::Error &) {
      return kFault;
    }
    (void)y.to_host();
    return kRan;
  } catch (const fx::Error &) {
    return kRefused;
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const Bytes whole{std::istreambuf_iterator<char>(file), {}};
  const bool isEach = std::string(argv[2]) == "each";
  constexpr int known = 1 + static_cast<int>(kDeadly.size());
  const int files = isEach ? known + kOtherValues * kCodeBytes : std::atoi(argv[2]);
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::map<int, int> ended;
  bool allWell = whole.size() > 1000;
  for (int i = 0; i < files; ++i) {
    const auto number = static_cast<std::size_t>(i);
    const Bytes bytes = i == 0      ? whole
                        : i < known ? withChanges(whole, kDeadly[number - 1])
                        : isEach    ? withOtherByte(whole, number - known)
                                    : damaged(whole, seed + number);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      if (!std::freopen("/dev/null", "w", stderr)) // where findings and faults are told
        _exit(2);
      _exit(launch(bytes));
    }
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    ++ended[code];
    if (code != kRan && code != kRefused && code != kFault) {
      std::printf("file %d of seed %llu: %s %d\n", i, static_cast<unsigned long long>(seed),
                  code < 0 ? "signal" : "status", std::abs(code));
      std::fflush(stdout);
      allWell = false;
    }
    if (i == 0 && code != kRan) {
      std::puts("the file that is not damaged does not run");
      return 1;
    }
  }
  std::printf("%d ran, %d refused, %d faulted\n", ended[kRan], ended[kRefused], ended[kFault]);
  // Else the damage is not where it is looked at.
  allWell &= files < 100 || (ended[kRan] > 1 && ended[kRefused] && ended[kFault]);
  return allWell ? 0 : 1;
}
