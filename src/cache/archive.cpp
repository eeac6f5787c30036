#include "cache/archive.h"

#include <flydsl/error.h>

#include <cstring>

namespace flydsl::cache {

static constexpr char kMagic[8] = {'F', 'L', 'Y', 'A', 'R', 'C', 'H', 'V'};
static constexpr std::size_t kHeaderBytes = sizeof kMagic + 2 * sizeof(std::uint32_t);

template <class T> static void append(Bytes &out, const T &value) {
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

Transferred exportEntries(const std::vector<EntryFile> &entries, const std::string &archive,
                          const support::Trust &trust) {
  Transferred result;
  Bytes out(kMagic, kMagic + sizeof kMagic);
  append(out, kFormatVersion);
  append(out, std::uint32_t(0));
  for (const EntryFile &entry : entries) {
    support::FileContents file = support::readAll(entry.path, kMaxEntryBytes, trust);
    if (file.bytes)
      file.problem = decodeEntry(entry.key, file.bytes->data(), file.bytes->size()).problem;
    if (!file.problem.empty()) {
      result.skipped.push_back(entry.path + ": " + file.problem);
      continue;
    }
    append(out, std::uint64_t(file.bytes->size()));
    out.insert(out.end(), file.bytes->begin(), file.bytes->end());
    ++result.entries;
    result.bytes += file.bytes->size();
  }
  auto count = static_cast<std::uint32_t>(result.entries);
  std::memcpy(out.data() + sizeof kMagic + sizeof kFormatVersion, &count, sizeof count);
  std::string problem = support::writeFile(archive, out);
  if (!problem.empty())
    throw Error("writing " + archive + ": " + problem);
  return result;
}

namespace {

/// The place of an entry in the archive.
struct Piece {
  std::uint64_t offset, size;
};

/// Reads only the sizes of the entries, so that an archive of any size takes little memory.
std::vector<Piece> piecesOf(support::InputFile &file, const std::string &archive) {
  Bytes header(kHeaderBytes);
  if (file.problem().empty() && file.size() < kHeaderBytes)
    throw Error(archive + " is no archive of cache entries");
  if (!file.read(0, header))
    throw Error(archive + " can't be read: " + file.problem());
  if (std::memcmp(header.data(), kMagic, sizeof kMagic) != 0)
    throw Error(archive + " is no archive of cache entries");
  std::uint32_t numbers[2];
  std::memcpy(numbers, header.data() + sizeof kMagic, sizeof numbers);
  if (numbers[0] != kFormatVersion)
    throw Error(archive + " has format version " + std::to_string(numbers[0]) + ", expected " +
                std::to_string(kFormatVersion));
  std::vector<Piece> pieces;
  std::uint64_t at = kHeaderBytes;
  for (std::uint32_t i = 0; i < numbers[1]; ++i) {
    std::uint8_t bytes[sizeof(std::uint64_t)];
    std::uint64_t size = 0;
    if (file.size() - at < sizeof size)
      throw Error(archive + " ends early");
    if (!file.read(at, bytes))
      throw Error(archive + " can't be read: " + file.problem());
    std::memcpy(&size, bytes, sizeof size);
    at += sizeof size;
    if (size > file.size() - at)
      throw Error(archive + " ends early");
    if (size < kMinEntryBytes)
      throw Error(archive + ": " + std::to_string(size) + " bytes are no entry");
    pieces.push_back({at, size});
    at += size;
  }
  if (at != file.size())
    throw Error(archive + " is longer than its contents");
  return pieces;
}

/// Imports one entry. Returns an empty text on success, otherwise the reason why the entry is left
/// out.
std::string importEntry(support::InputFile &file, const Piece &piece, const std::string &directory,
                        const support::Trust &trust) {
  if (piece.size > kMaxEntryBytes)
    return "its " + std::to_string(piece.size) + " bytes are more than an entry has";
  Bytes bytes(static_cast<std::size_t>(piece.size));
  if (!file.read(piece.offset, bytes))
    return file.problem();
  const std::optional<Key> key = entryKey(bytes.data(), bytes.size());
  if (!key)
    return "no cache entry";
  std::string problem = decodeEntry(*key, bytes.data(), bytes.size()).problem;
  if (problem.empty())
    problem = distrustDirectory(directory, *key, trust);
  if (problem.empty())
    problem = support::writeFile(entryPath(directory, *key), bytes, support::ownOptions(trust));
  return problem;
}

} // namespace

Transferred importEntries(const std::string &archive, const std::string &directory,
                          const support::Trust &trust) {
  support::InputFile file(archive, support::Trust::named());
  const std::vector<Piece> pieces = piecesOf(file, archive);
  Transferred result;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (std::string problem = importEntry(file, pieces[i], directory, trust); !problem.empty()) {
      result.skipped.push_back("entry " + std::to_string(i) + ": " + problem);
      continue;
    }
    ++result.entries;
    result.bytes += pieces[i].size;
  }
  return result;
}

} // namespace flydsl::cache
