#include "cache/archive.h"

#include <flydsl/error.h>

#include <cstring>

namespace flydsl::cache {

static constexpr char magic[8] = {'F', 'L', 'Y', 'A', 'R', 'C', 'H', 'V'};
static constexpr std::size_t headerBytes = sizeof magic + 2 * sizeof(std::uint32_t);

template <class T> static void append(Bytes &out, const T &value) {
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

Transferred exportEntries(const std::vector<EntryFile> &entries, const std::string &archive) {
  Transferred result;
  Bytes out(magic, magic + sizeof magic);
  append(out, formatVersion);
  append(out, std::uint32_t(0));
  for (const EntryFile &entry : entries) {
    std::optional<Bytes> data = readFile(entry.path);
    Decoded decoded = data ? decodeEntry(entry.key, data->data(), data->size())
                           : Decoded{std::nullopt, "it can't be read"};
    if (!decoded.blob) {
      result.skipped.push_back(entry.path + ": " + decoded.problem);
      continue;
    }
    append(out, std::uint64_t(data->size()));
    out.insert(out.end(), data->begin(), data->end());
    ++result.entries;
    result.bytes += data->size();
  }
  auto count = static_cast<std::uint32_t>(result.entries);
  std::memcpy(out.data() + sizeof magic + sizeof formatVersion, &count, sizeof count);
  std::string problem = writeDurably(archive, out);
  if (!problem.empty())
    throw Error("writing " + archive + ": " + problem);
  return result;
}

Transferred importEntries(const std::string &archive, const std::string &directory) {
  std::optional<Bytes> data = readFile(archive);
  if (!data)
    throw Error(archive + " can't be read");
  if (data->size() < headerBytes || std::memcmp(data->data(), magic, sizeof magic) != 0)
    throw Error(archive + " is no archive of cache entries");
  std::uint32_t numbers[2];
  std::memcpy(numbers, data->data() + sizeof magic, sizeof numbers);
  if (numbers[0] != formatVersion)
    throw Error(archive + " has format version " + std::to_string(numbers[0]) + ", expected " +
                std::to_string(formatVersion));

  struct Piece {
    const std::uint8_t *data;
    std::size_t size;
  };
  std::vector<Piece> pieces;
  std::size_t at = headerBytes;
  for (std::uint32_t i = 0; i < numbers[1]; ++i) {
    std::uint64_t size = 0;
    if (data->size() - at < sizeof size)
      throw Error(archive + " ends early");
    std::memcpy(&size, data->data() + at, sizeof size);
    at += sizeof size;
    if (size > data->size() - at)
      throw Error(archive + " ends early");
    pieces.push_back({data->data() + at, static_cast<std::size_t>(size)});
    at += size;
  }
  if (at != data->size())
    throw Error(archive + " is longer than its contents");

  Transferred result;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto [bytes, size] = pieces[i];
    std::optional<Key> key = entryKey(bytes, size);
    std::string problem = key ? decodeEntry(*key, bytes, size).problem : "no cache entry";
    if (problem.empty())
      problem = writeDurably(entryPath(directory, *key), Bytes(bytes, bytes + size));
    if (!problem.empty()) {
      result.skipped.push_back("entry " + std::to_string(i) + ": " + problem);
      continue;
    }
    ++result.entries;
    result.bytes += size;
  }
  return result;
}

} // namespace flydsl::cache
