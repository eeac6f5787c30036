// Files of tuned configurations, and those in use. A file has a line for each entry,
//
//   flydsl tuned configurations, format 1
//   gfx942 units=304 m=64 us=12.5 gemm a=bf16 ... | tile_m=64 ...
//   end 1 0123456789abcdef
//
// and ends in their number and a digest of all lines before.
#include "frame/tuned.h"

#include "frame/tuned_families.h"
#include "text/fields.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {
namespace {

constexpr std::string_view kTitle = "flydsl tuned configurations, format ";
constexpr std::string_view kFormat = "1";
/// More bytes than any file has.
constexpr std::uintmax_t kMostBytes = std::uintmax_t(64) << 20;

/// FNV-1a with 64 bits, http://www.isthe.com/chongo/tech/comp/fnv.
std::string digestOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

std::string lineOf(const TunedEntry &entry) {
  const Config measured{
      {"units", entry.compute_units}, {"m", entry.rows}, {"us", entry.microseconds}};
  return entry.target + " " + measured.str() + " " + entry.problem + " | " + entry.config;
}

/// The value of the word NAME=VALUE that stands next. Throws Error if another one does.
template <class T> T taken(std::istringstream &from, const std::string &name) {
  std::string word;
  from >> word;
  T value{};
  const char *end = word.data() + word.size();
  if (!word.starts_with(name + "=") ||
      std::from_chars(word.data() + name.size() + 1, end, value).ptr != end)
    throw Error("\"" + word + "\" stands where " + name + "=NUMBER is expected");
  return value;
}

TunedEntry entryOf(const std::string &line) {
  std::istringstream words(line);
  TunedEntry entry;
  words >> entry.target;
  entry.compute_units = taken<int>(words, "units");
  entry.rows = taken<std::int64_t>(words, "m");
  entry.microseconds = taken<double>(words, "us");
  std::string rest;
  std::getline(words, rest);
  const std::size_t bar = rest.find(" | ");
  if (bar == std::string::npos)
    throw Error("no \" | \" stands between a problem and its configuration");
  entry.problem = rest.substr(0, bar);
  entry.config = rest.substr(bar + 3);
  return entry;
}

std::string textOf(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Error("there is no file " + path + (error ? ": " + error.message() : ""));
  if (std::filesystem::file_size(path, error) > kMostBytes || error)
    throw Error(path + " is larger than any file of tuned configurations");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file)
    throw Error(path + " can't be read");
  return text;
}

/// The lines of a whole file, without the first and the last one. Throws Error for another one.
std::vector<std::string> linesOf(const std::string &path) {
  const std::string text = textOf(path);
  const std::string title = text.substr(0, text.find('\n'));
  if (!title.starts_with(kTitle))
    throw Error(path + " is no file of tuned configurations: its first line is not \"" +
                std::string(kTitle) + std::string(kFormat) + "\"");
  if (title.substr(kTitle.size()) != kFormat)
    throw Error(path + " has format " + title.substr(kTitle.size()) +
                "; this version of the library reads format " + std::string(kFormat));
  const std::string damaged = path + " is damaged: ";
  const std::size_t last = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  const std::string_view end = std::string_view(text).substr(last);
  if (text.back() != '\n' || !end.starts_with("end "))
    throw Error(damaged + "its last line, with the number of entries and a digest, is missing");
  const std::string_view body = std::string_view(text).substr(0, last);
  std::vector<std::string> lines;
  std::istringstream in{std::string(body)};
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line))
    lines.push_back(line);
  const std::string expected = "end " + std::to_string(lines.size()) + " " + digestOf(body) + "\n";
  if (end != expected)
    throw Error(damaged + "its last line is \"" + std::string(end.substr(0, end.size() - 1)) +
                "\"; that of its other lines is \"" + expected.substr(0, expected.size() - 1) +
                "\"");
  return lines;
}

/// The entry for the same problem, rows and GPU, or the end.
std::vector<TunedEntry>::iterator likeIn(std::vector<TunedEntry> &entries,
                                         const TunedEntry &entry) {
  return std::find_if(entries.begin(), entries.end(), [&](const TunedEntry &other) {
    return other.problem == entry.problem && other.rows == entry.rows &&
           other.target == entry.target && other.compute_units == entry.compute_units;
  });
}

/// What is in use besides the entries themselves, which are the families'.
struct InUse {
  std::shared_mutex mutex;
  std::mutex first; ///< for the file of the environment
  std::atomic<bool> isKnown = false, isAny = false;
  std::atomic<std::uint64_t> state = 0;
  std::map<std::string, std::set<std::int64_t>, std::less<>> rows; ///< of families
};
InUse &inUse() {
  static InUse *all = new InUse; // outlives every thread that may ask
  return *all;
}

/// Puts entries in the place of those that are in use; the caller holds `first`.
void put(const std::vector<TunedEntry> &entries) {
  std::vector<impl::TunedRead> read;
  for (const TunedEntry &entry : entries)
    read.push_back(impl::readTuned(entry));
  InUse &all = inUse();
  const std::unique_lock lock(all.mutex);
  impl::clearTuned();
  all.rows.clear();
  for (const impl::TunedRead &one : read) {
    one.put();
    all.rows[std::string(one.family)].insert({one.entry.rows / 2 + 1, one.entry.rows + 1});
  }
  all.isAny.store(!read.empty(), std::memory_order_release);
  all.isKnown.store(true, std::memory_order_release);
  ++all.state; // last: who sees it sees the entries
}

} // namespace

namespace impl {

std::shared_mutex &tunedMutex() { return inUse().mutex; }

bool tunedInUse() {
  InUse &all = inUse();
  if (!all.isKnown.load(std::memory_order_acquire)) [[unlikely]] {
    const std::string path = environment::kernels_tuned();
    const std::lock_guard lock(all.first);
    if (!all.isKnown.load(std::memory_order_acquire) && !path.empty())
      try {
        put(TunedConfigs::read(path).entries());
      } catch (const Error &error) {
        throw Error(std::string("FLYDSL_KERNELS_TUNED: ") + error.what());
      }
    all.isKnown.store(true, std::memory_order_release);
  }
  return all.isAny.load(std::memory_order_acquire);
}

std::uint64_t tunedState() { return inUse().state.load(std::memory_order_acquire); }

std::vector<std::int64_t> tunedRows(std::string_view family, std::int64_t most) {
  if (!tunedInUse())
    return {};
  const std::shared_lock lock(tunedMutex());
  const auto found = inUse().rows.find(family);
  if (found == inUse().rows.end())
    return {};
  return {found->second.begin(), found->second.upper_bound(most)};
}

} // namespace impl

TunedConfigs TunedConfigs::read(const std::string &path) { return read(path, nullptr); }
TunedConfigs TunedConfigs::read(const std::string &path, std::vector<std::string> &refused) {
  return read(path, &refused);
}
TunedConfigs TunedConfigs::read(const std::string &path, std::vector<std::string> *refused) {
  TunedConfigs configs;
  const std::vector<std::string> lines = linesOf(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string why;
    try {
      TunedEntry whole = impl::readTuned(entryOf(lines[i])).entry;
      if (likeIn(configs.entries_, whole) != configs.entries_.end())
        throw Error("an earlier line is for the same problem, rows and GPU");
      configs.entries_.push_back(std::move(whole));
      continue;
    } catch (const Error &error) {
      why = path + ", line " + std::to_string(i + 2) + ": " + error.what();
    }
    if (!refused)
      throw Error(why + "; `fly-kernels tuned " + path + " --drop` leaves out what is refused");
    refused->push_back(std::move(why));
  }
  return configs;
}

TunedConfigs &TunedConfigs::set(const TunedEntry &entry) {
  TunedEntry whole = impl::readTuned(entry).entry;
  const auto same = likeIn(entries_, whole);
  if (same == entries_.end())
    entries_.push_back(std::move(whole));
  else
    *same = std::move(whole);
  return *this;
}

void TunedConfigs::write(const std::string &path) const {
  std::string text = std::string(kTitle) + std::string(kFormat) + "\n";
  for (const TunedEntry &entry : entries_)
    text += lineOf(entry) + "\n";
  text += "end " + std::to_string(entries_.size()) + " " + digestOf(text) + "\n";
  static std::atomic<unsigned> count = 0;
  const std::string part =
      path + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".part";
  const auto fail = [&](const std::string &why) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw RuntimeError("tuned configurations can't be written to " + why);
  };
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file)
      fail(part);
  }
  std::error_code error;
  std::filesystem::rename(part, path, error);
  if (error)
    fail(path + ": " + error.message());
}

void TunedConfigs::use() const {
  const std::lock_guard lock(inUse().first);
  put(entries_);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
