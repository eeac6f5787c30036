// The fleet's cache: a server that machines share, behind the cache on disk.
//
// What it has is not trusted: an entry is verified as one on disk, and by its signature where
// entries are signed. A server that is slow, full or gone costs a bounded time and nothing else.
// Machines that need the same entry at the same time make it once: one of them holds a lease.
#pragma once

#include "cache/entry.h"
#include "cache/remote/breaker.h"
#include "cache/remote/remote_config.h"
#include "cache/remote/sealed_entry.h"

#include <functional>
#include <mutex>
#include <set>

namespace flydsl::cache {

class RemoteTier {
public:
  /// Throws flydsl::Error if the library that speaks with the server is not there. The server need
  /// not be.
  explicit RemoteTier(RemoteConfig config);

  /// The tier of this process, configured by the environment when first asked for; null if there is
  /// none. Throws flydsl::Error for bad variables.
  static RemoteTier *process();

  /// The kinds of entries, each with names of its own.
  enum class Kind { kernel, winner };
  /// Looks at what an entry holds. Returns why it can't be used; empty if it can.
  using Accept = std::function<std::string(const Blob &)>;

  /// The entry, if there is one that is whole and that `accept` takes. Takes `timeout` at most.
  std::optional<Blob> load(Kind kind, const Key &key, const Accept &accept);

  /// Loads the entry, or makes and stores it while no other machine does. Waits for another machine
  /// that makes it for as long as a lease lasts. This machine's own is renewed while it makes the
  /// entry. Throws what `make` throws. `made` is true if this call made it.
  Blob loadOrMake(Kind kind, const Key &key, const Accept &accept,
                  const std::function<Blob()> &make, bool &made);

  /// Stores an entry, whatever is there. Takes `timeout` at most. Returns false if that fails.
  bool store(Kind kind, const Key &key, const Blob &blob);

  const RemoteConfig &config() const { return config_; }

private:
  /// The names of an entry and of its lease on the server.
  struct Names {
    std::string entry, lease;
  };
  /// What this call asks the lease with.
  struct Leasing {
    std::string token;
    std::chrono::milliseconds time;
  };
  enum class Look { found, leased, others, failed };
  class Timed;

  Names namesOf(Kind kind, const Key &key) const;
  /// Whether an answer is one that the command has.
  using Fits = bool (*)(const Reply &);
  std::optional<Reply> ask(std::span<const std::string_view> words, std::size_t mostBytes,
                           Deadline deadline, Fits fits);
  bool mayWait();
  void noteWait(Breaker::Clock::time_point start, std::chrono::milliseconds lease, bool inVain);
  std::unique_ptr<RemoteConnection> connect(Deadline deadline);
  std::unique_ptr<RemoteConnection> takeIdle();
  void giveBack(std::unique_ptr<RemoteConnection> connection);
  void failed(Breaker::Clock::time_point start, const std::string &why);
  void answered();
  Look look(const Names &names, const Key &key, const Accept &accept, const Leasing &leasing,
            std::string &refused, Blob &found);
  bool put(const Names &names, const Key &key, const Blob &blob, std::string_view token,
           Deadline deadline);
  bool renew(const Names &names, const Leasing &leasing);
  void release(const Names &names, std::string_view token, Deadline deadline);
  std::optional<Blob> opened(const std::string &name, const Key &key, std::string_view bytes,
                             const Accept &accept);
  void reject(const std::string &name, const std::string &why);
  void warnOnce(const std::string &message);

  const RemoteConfig config_;
  const std::unique_ptr<RemoteClient> client_;
  const EntrySeal seal_;

  std::mutex mutex_; ///< guards the members below
  std::vector<std::unique_ptr<RemoteConnection>> idle_;
  Breaker breaker_;
  Breaker waits_;              ///< for other machines' leases
  std::set<std::string> said_; ///< the warnings that were given
};

} // namespace flydsl::cache
