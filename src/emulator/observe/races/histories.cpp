#include "emulator/observe/races/histories.h"

#include <array>
#include <new>
#include <zstd.h>

namespace flyemu {
namespace {

using Words = std::array<uint32_t, sizeof(History) / sizeof(uint32_t)>;

size_t checked(size_t result) {
  if (ZSTD_isError(result))
    throw std::bad_alloc(); // nothing else fails with a destination that is long enough
  return result;
}

} // namespace

// The shifts of all lines, then the words of all places as one frame of zstd, each less the same
// word of the place before: all first words, all second ones, and so on. So what an instruction
// does alike at places in a row becomes a run of one value.
std::vector<std::byte> Histories::packed() const {
  size_t places = 0;
  eachPlace(lines_, [&](const History &) { ++places; });
  std::vector<uint32_t> columns(places * Words().size());
  Words before = {};
  size_t place = 0;
  eachPlace(lines_, [&](const History &h) {
    const auto words = std::bit_cast<Words>(h);
    for (size_t i = 0; i < words.size(); ++i)
      columns[i * places + place] = words[i] - before[i];
    before = words;
    ++place;
  });

  const size_t size = columns.size() * sizeof(uint32_t);
  std::vector<std::byte> out(lines_.size() + ZSTD_compressBound(size));
  for (size_t line = 0; line < lines_.size(); ++line)
    out[line] = static_cast<std::byte>(lines_[line].shift);
  out.resize(lines_.size() + checked(ZSTD_compress(out.data() + lines_.size(),
                                                   out.size() - lines_.size(), columns.data(), size,
                                                   /*compressionLevel=*/1)));
  out.shrink_to_fit();
  return out;
}

Histories::Histories(uint64_t bytes, const std::vector<std::byte> &packed) : Histories(bytes) {
  size_t places = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    Line &line = lines_[i];
    line.shift = static_cast<unsigned>(packed[i]);
    const size_t parts = partsOf(line.shift);
    if (parts)
      line.parts = std::make_unique<History[]>(parts);
    memory_ += parts * sizeof(History);
    places += parts ? parts : 1;
  }
  std::vector<uint32_t> columns(places * Words().size());
  checked(ZSTD_decompress(columns.data(), columns.size() * sizeof(uint32_t),
                          packed.data() + lines_.size(), packed.size() - lines_.size()));
  Words words = {};
  size_t place = 0;
  eachPlace(lines_, [&](History &h) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] += columns[i * places + place];
    h = std::bit_cast<History>(words);
    ++place;
  });
}

} // namespace flyemu
