#include "scratch.h"

#include "cache/memory_table.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;

TEST_CASE("Keys print, parse and depend on how pieces are cut") {
  Key key = keyOf(1);
  CHECK(key.hex().size() == 32);
  CHECK(Key::fromHex(key.hex()) == key);
  CHECK(Key{0x0123456789abcdef, 0xfedcba9876543210}.hex() == "0123456789abcdeffedcba9876543210");
  CHECK_FALSE(Key::fromHex("0123"));
  CHECK_FALSE(Key::fromHex(std::string(31, '0') + "G"));
  CHECK(KeyBuilder().add("a", "bc").finish() != KeyBuilder().add("ab", "c").finish());
  CHECK(KeyBuilder().add("a", "b").add("c", "d").finish() != KeyBuilder().add("a", "bcd").finish());
  CHECK(KeyBuilder().add("a", 1).finish() != KeyBuilder().add("a", 2).finish());
}

TEST_CASE("An entry comes back from its bytes; empty parts too") {
  for (std::size_t size : {0u, 1u, 1000u, 100000u}) {
    Blob blob = blobOf(7, size);
    if (size == 0)
      blob = {};
    Bytes bytes = encodeEntry(keyOf(7), blob);
    CHECK(entryKey(bytes.data(), bytes.size()) == keyOf(7));
    Decoded decoded = decodeEntry(keyOf(7), bytes.data(), bytes.size());
    REQUIRE(decoded.blob);
    CHECK(same(*decoded.blob, blob));
  }
}

TEST_CASE("Every flipped bit, every missing and every additional byte is detected") {
  Bytes good = encodeEntry(keyOf(3), blobOf(3));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[at] ^= 1u << bit;
      Decoded decoded = decodeEntry(keyOf(3), bad.data(), bad.size());
      if (decoded.blob || decoded.problem.empty())
        FAIL("byte " << at << ", bit " << bit);
    }
  for (std::size_t size = 0; size < good.size(); ++size)
    if (decodeEntry(keyOf(3), good.data(), size).blob)
      FAIL("truncated to " << size);
  Bytes longer = good;
  longer.push_back(0);
  CHECK_FALSE(decodeEntry(keyOf(3), longer.data(), longer.size()).blob);
}

TEST_CASE("An entry of another key, or of another format version, is refused and says so") {
  Bytes bytes = encodeEntry(keyOf(3), blobOf(3));
  CHECK_THAT(decodeEntry(keyOf(4), bytes.data(), bytes.size()).problem,
             Catch::Contains(keyOf(3).hex()));
  bytes[8] = kFormatVersion + 1;
  Key checksum = digest(bytes.data(), bytes.size() - sizeof(Key));
  std::memcpy(bytes.data() + bytes.size() - sizeof(Key), &checksum, sizeof checksum);
  CHECK_THAT(decodeEntry(keyOf(3), bytes.data(), bytes.size()).problem, Catch::Contains("version"));
}

TEST_CASE("Sizes of the cache are parsed strictly") {
  CHECK(parseSize("0") == 0);
  CHECK(parseSize("1500") == 1500);
  CHECK(parseSize("64K") == 64 * 1024);
  CHECK(parseSize("10m") == 10 * 1024 * 1024);
  CHECK(parseSize("2GiB") == std::uint64_t(2) << 30);
  CHECK(parseSize("1TB") == std::uint64_t(1) << 40);
  for (const char *text : {"", "K", "-1", "1.5G", "1Q", "1GG", "1KiBs", "99999999999999T", " 1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parseSize(text), Error);
  }
}

TEST_CASE(
    "In memory a key is made once by many threads, and a failure is everyone's and not kept") {
  MemoryTable<int> table(1000, [](const int &) { return std::size_t(1); });
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, makers{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < 50; ++n) {
        bool made = false;
        auto value = table.findOrMake(
            keyOf(n),
            [&] {
              ++calls;
              return std::make_shared<const int>(static_cast<int>(n));
            },
            made);
        makers += made;
        wrong += *value != static_cast<int>(n);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(calls == 50);
  CHECK(makers == 50);
  CHECK(wrong == 0);
  CHECK(table.size() == 50);
  CHECK(*table.find(keyOf(7)) == 7);
  CHECK(table.find(keyOf(99)) == nullptr);

  bool made = false;
  auto fails = [&]() -> std::shared_ptr<const int> { throw Error("no"); };
  CHECK_THROWS_WITH(table.findOrMake(keyOf(99), fails, made), "no");
  CHECK(table.find(keyOf(99)) == nullptr);
  CHECK(*table.findOrMake(keyOf(99), [] { return std::make_shared<const int>(5); }, made) == 5);
}
