#include "jit/launch/signature_table.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

namespace fx = flydsl;

namespace {
void fill(fx::ArgPack &pack, std::uint64_t value, std::uint64_t block = 64) {
  pack.constant(value);
  pack.setBlock(block);
}
} // namespace

TEST_CASE("each signature has one entry, found again among many") {
  flydsl::jit::SignatureTable table;
  std::vector<flydsl::jit::SignatureEntry *> entries;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    fx::ArgPack pack;
    fill(pack, i);
    CHECK(table.find(pack) == nullptr);
    entries.push_back(&table.insert(pack, 1));
  }
  for (std::uint64_t i = 0; i < 1000; ++i) {
    fx::ArgPack pack;
    fill(pack, i);
    REQUIRE(table.find(pack) == entries[i]);
    REQUIRE(&table.insert(pack, 1) == entries[i]);
    fx::ArgPack other;
    fill(other, i, 128);
    REQUIRE(table.find(other) == nullptr);
  }
}

TEST_CASE("readers find what was inserted while others insert") {
  flydsl::jit::SignatureTable table;
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<bool> lost{false};
  constexpr std::uint64_t total = 3000;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&] {
      for (std::uint64_t i = 0; inserted < total; ++i) {
        std::uint64_t limit = inserted;
        if (!limit)
          continue;
        fx::ArgPack pack;
        fill(pack, i % limit);
        if (!table.find(pack))
          lost = true;
      }
    });
  for (std::uint64_t i = 0; i < total; ++i) {
    fx::ArgPack pack;
    fill(pack, i);
    table.insert(pack, 1);
    inserted = i + 1;
  }
  for (std::thread &reader : readers)
    reader.join();
  CHECK_FALSE(lost);
}
