// An entry of the fleet's cache: the bytes of an entry on disk (cache/entry.h) and, where entries
// are signed, 32 bytes of HMAC-SHA256 behind them. The signature is of the entry's name on the
// server and its bytes, so that no entry can stand in for another.
#pragma once

#include "cache/entry.h"
#include "cache/remote/client.h"

#include <span>
#include <string>
#include <string_view>

namespace flydsl::cache {

class EntrySeal {
public:
  /// Without a key, entries are not signed. `client` must outlive this object.
  EntrySeal(RemoteClient &client, std::vector<std::uint8_t> key);

  /// How the names of entries end: "plain", or "signed-" and a number that depends on the key. So
  /// machines with different keys do not meet, and a key can be replaced while machines run.
  const std::string &suffix() const { return suffix_; }
  /// The bytes of an entry. Throws flydsl::Error as encodeEntry does.
  std::string seal(std::string_view name, const Key &key, const Blob &blob) const;
  /// Verifies all of an entry; it may be any bytes.
  Decoded open(std::string_view name, const Key &key, std::string_view bytes) const;

private:
  Signature signatureOf(std::string_view name, std::string_view bytes) const;

  RemoteClient &client_;
  std::vector<std::uint8_t> key_;
  std::string suffix_ = "plain";
};

} // namespace flydsl::cache
