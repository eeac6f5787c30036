// Look-ups, leases and stores.
#include "cache/remote/remote_tier.h"

#include "cache/remote/counters.h"
#include "cache/remote/lease_keeper.h"
#include "cache/remote/load_client.h"
#include "support/clock.h"
#include "support/log.h"
#include "support/process_use.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <cstdio>
#include <sys/random.h>
#include <thread>
#include <unistd.h>

namespace flydsl::cache {

namespace {

using Clock = Breaker::Clock;

/// Bytes of an answer beside the entry in it: a length, or the text of an error.
constexpr std::size_t kAnswerBytes = 4096;
/// The bytes at the end of an entry by which the server tells one that was refused from a new one:
/// its signature, or its checksum and what stands before.
constexpr std::size_t kTailBytes = 32;
/// The most warnings of a process, and the most characters of one that are the server's: it must
/// not fill a log.
constexpr std::size_t kMostWarnings = 100, kMostShown = 200;
/// What stands for the tail of an entry that was too long to be read.
constexpr std::string_view kTooLong = "too long";
/// The pauses between looks for an entry that another machine makes.
constexpr std::chrono::milliseconds kFirstLook{2}, kSlowestLook{100};
/// A search for a winner measures many kernels: its lease lasts so many times that of a kernel.
constexpr int kLeasesOfSearch = 10;
/// A lease is renewed so often in its time, and for so many times its length in all: a maker that
/// hangs does not hold it for ever.
constexpr int kRenewalsOfLease = 3, kLongestInLeases = 20;

// The scripts run on the server, each as one step. KEYS: the entry, its lease.

/// Returns the entry, unless it ends as ARGV[4] does, which this machine refused. Where there is
/// none: 1 if the lease is now the caller's, 0 if it is another's, 2 if the entry is too long.
/// ARGV: token, milliseconds of the lease, most bytes of an entry, tail of the refused one. A
/// caller that asks again after a broken connection has the lease still.
constexpr std::string_view kLookScript = R"(
local size = redis.call('STRLEN', KEYS[1])
if size > tonumber(ARGV[3]) then
  if ARGV[4] ~= 'too long' then return 2 end
elseif size > 0 then
  local entry = redis.call('GET', KEYS[1])
  if string.sub(entry, -32) ~= ARGV[4] then return entry end
end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[2]) == ARGV[1] then return 1 end
return 0
)";

/// Stores an entry if the lease is the caller's; also if nobody has it and there is no entry, which
/// is so where making it took longer than the lease. Who lost the lease to another machine writes
/// nothing. ARGV: token, entry, milliseconds that it lives, 0 for ever.
constexpr std::string_view kStoreScript = R"(
local owner = redis.call('GET', KEYS[2])
if owner ~= ARGV[1] and (owner or redis.call('EXISTS', KEYS[1]) == 1) then return 0 end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
if owner then redis.call('DEL', KEYS[2]) end
return 1
)";

/// Makes the lease last longer if it is the caller's still. ARGV: token, milliseconds from now.
constexpr std::string_view kRenewScript = R"(
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return 0
)";

/// Gives the lease back if it is the caller's. ARGV: token.
constexpr std::string_view kReleaseScript = R"(
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('DEL', KEYS[2]) end
return 0
)";

/// A name that no other holder of a lease has: 128 random bits.
std::string newToken() {
  unsigned char bytes[16];
  if (getentropy(bytes, sizeof bytes) != 0)
    throw Error("the system has no random bytes for a token");
  std::string token;
  char digits[3];
  for (unsigned char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    token += digits;
  }
  return token;
}

// The answers of the commands and scripts.
bool isText(const Reply &reply) { return reply.kind == Reply::Kind::text; }
bool isYesOrNo(const Reply &reply) {
  return reply.kind == Reply::Kind::number && (reply.number == 0 || reply.number == 1);
}
bool isLook(const Reply &reply) {
  return isText(reply) || isYesOrNo(reply) ||
         (reply.kind == Reply::Kind::number && reply.number == 2);
}

std::string shown(const Reply &reply) {
  switch (reply.kind) {
  case Reply::Kind::number:
    return std::to_string(reply.number);
  case Reply::Kind::nothing:
    return "nil";
  case Reply::Kind::text:
  case Reply::Kind::error:
    break;
  }
  return "a text";
}

const char *nameOf(RemoteTier::Kind kind) {
  switch (kind) {
  case RemoteTier::Kind::kernel:
    return "kernel";
  case RemoteTier::Kind::winner:
    return "winner";
  }
  return "?";
}

} // namespace

/// Adds the time of its life to the counters.
class RemoteTier::Timed {
public:
  ~Timed() {
    remoteCounters().microseconds +=
        static_cast<std::uint64_t>(support::millisecondsSince(start_) * 1000);
  }
  double milliseconds() const { return support::millisecondsSince(start_); }

private:
  const support::Clock::time_point start_ = support::Clock::now();
};

RemoteTier::RemoteTier(RemoteConfig config)
    : config_(std::move(config)), client_(loadRemoteClient(config_.url.endpoint, config_.library)),
      seal_(*client_, config_.signingKey) {}

RemoteTier *RemoteTier::process() {
  support::enterLibrary();
  static RemoteTier *const tier = [] {
    std::optional<RemoteConfig> config = RemoteConfig::fromEnvironment();
    return config ? new RemoteTier(std::move(*config)) : nullptr;
  }();
  return tier;
}

RemoteTier::Names RemoteTier::namesOf(Kind kind, const Key &key) const {
  // The braces keep both names on one node of a cluster.
  const std::string start = config_.prefix + ":" + nameOf(kind) + ":{" + key.hex() + "}:";
  return {start + seal_.suffix(), start + seal_.suffix() + ":lease"};
}

//===-- requests ----------------------------------------------------------===//

std::unique_ptr<RemoteConnection> RemoteTier::takeIdle() {
  std::lock_guard lock(mutex_);
  if (idle_.empty())
    return nullptr;
  std::unique_ptr<RemoteConnection> taken = std::move(idle_.back());
  idle_.pop_back();
  return taken;
}

void RemoteTier::giveBack(std::unique_ptr<RemoteConnection> connection) {
  constexpr std::size_t mostIdle = 8;
  std::lock_guard lock(mutex_);
  if (idle_.size() < mostIdle)
    idle_.push_back(std::move(connection));
}

std::unique_ptr<RemoteConnection> RemoteTier::connect(Deadline deadline) {
  std::unique_ptr<RemoteConnection> connection = client_->connect(deadline);
  const auto mustSucceed = [&](std::initializer_list<std::string_view> words) {
    const Reply reply =
        connection->request(std::span(words.begin(), words.size()), kAnswerBytes, deadline);
    if (reply.kind == Reply::Kind::error)
      throw std::runtime_error(std::string(*words.begin()) + " is refused: " + reply.text);
  };
  if (!config_.url.user.empty())
    mustSucceed({"AUTH", config_.url.user, config_.password});
  else if (!config_.password.empty())
    mustSucceed({"AUTH", config_.password});
  if (config_.url.database)
    mustSucceed({"SELECT", std::to_string(config_.url.database)});
  return connection;
}

void RemoteTier::warnOnce(const std::string &message) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = said_.size() < kMostWarnings && said_.insert(message).second;
  }
  if (first)
    support::log().warn("{}", message);
  else
    support::log().debug("{}", message);
}

void RemoteTier::failed(Clock::time_point start, const std::string &why) {
  ++remoteCounters().failures;
  std::chrono::milliseconds pause;
  bool wasClosed;
  {
    std::lock_guard lock(mutex_);
    wasClosed = breaker_.closed();
    breaker_.failed(start, Clock::now());
    pause = breaker_.pause();
  }
  const std::string line = "event=remote_down server=" + config_.name +
                           " pause_ms=" + std::to_string(pause.count()) +
                           " error=" + support::printable(why);
  if (wasClosed)
    support::log().warn("{}", line);
  else
    support::log().debug("{}", line);
}

void RemoteTier::answered() {
  bool wasOpen;
  {
    std::lock_guard lock(mutex_);
    wasOpen = breaker_.succeeded();
  }
  if (wasOpen)
    support::log().warn("event=remote_up server={}", config_.name);
}

/// Whether this call may wait for another machine. One that waited in vain, for a whole lease, is
/// followed by a time in which none waits: who holds leases and makes nothing, or a server that says
/// so of each kernel, costs a lease from time to time and not with every kernel.
bool RemoteTier::mayWait() {
  std::lock_guard lock(mutex_);
  return waits_.allows(Clock::now(), config_.timeout * 2);
}

void RemoteTier::noteWait(Clock::time_point start, std::chrono::milliseconds lease, bool inVain) {
  std::lock_guard lock(mutex_);
  if (inVain)
    waits_.failed(start, Clock::now(), std::max(lease, Breaker::kFirstPause));
  else
    waits_.succeeded();
}

/// The server's answer; nothing if there is none, an error, or one that the command does not have.
/// Never throws for what the server or the network does.
std::optional<Reply> RemoteTier::ask(std::span<const std::string_view> words, std::size_t mostBytes,
                                     Deadline deadline, Fits fits) {
  const Clock::time_point start = Clock::now();
  bool allowed;
  {
    std::lock_guard lock(mutex_);
    allowed = breaker_.allows(start, config_.timeout * 2);
  }
  if (!allowed) {
    ++remoteCounters().skipped;
    return std::nullopt;
  }
  for (bool fresh = false;; fresh = true) {
    std::unique_ptr<RemoteConnection> connection = fresh ? nullptr : takeIdle();
    const bool reused = connection != nullptr;
    try {
      if (!reused)
        connection = connect(deadline);
      Reply reply = connection->request(words, mostBytes + kAnswerBytes, deadline);
      if (reply.kind != Reply::Kind::error && !fits(reply))
        throw std::runtime_error("the answer to " + std::string(words[0]) + ", " + shown(reply) +
                                 ", is none that Redis gives");
      giveBack(std::move(connection));
      answered();
      if (reply.kind != Reply::Kind::error)
        return reply;
      ++remoteCounters().failures;
      warnOnce("event=remote_error server=" + config_.name +
               " error=" + support::printable(reply.text.substr(0, kMostShown)));
      return std::nullopt;
    } catch (const std::runtime_error &error) {
      // A server closes connections that were idle for long: those are made anew, once.
      if (reused && Clock::now() < deadline)
        continue;
      failed(start, error.what());
      return std::nullopt;
    }
  }
}

//===-- entries -----------------------------------------------------------===//

void RemoteTier::reject(const std::string &name, const std::string &why) {
  ++remoteCounters().rejected;
  warnOnce("event=remote_rejected server=" + config_.name + " entry=" + name +
           " error=" + support::printable(why));
}

std::optional<Blob> RemoteTier::opened(const std::string &name, const Key &key,
                                       std::string_view bytes, const Accept &accept) {
  Decoded decoded;
  std::string problem;
  try {
    decoded = seal_.open(name, key, bytes);
    problem = decoded.blob ? accept(*decoded.blob) : decoded.problem;
  } catch (const std::runtime_error &error) { // OpenSSL makes no signature
    problem = error.what();
  }
  if (!problem.empty()) {
    reject(name, problem);
    return std::nullopt;
  }
  ++remoteCounters().hits;
  remoteCounters().bytes += bytes.size();
  return std::move(decoded.blob);
}

std::optional<Blob> RemoteTier::load(Kind kind, const Key &key, const Accept &accept) {
  Timed timed;
  const Names names = namesOf(kind, key);
  // One byte more than an entry may have tells one that is too long.
  const std::string last = std::to_string(config_.mostBytes);
  const std::string_view words[] = {"GETRANGE", names.entry, "0", last};
  const std::optional<Reply> reply =
      ask(words, config_.mostBytes, Clock::now() + config_.timeout, isText);
  if (!reply || reply->text.empty()) {
    remoteCounters().misses += reply.has_value();
    return std::nullopt;
  }
  if (reply->text.size() > config_.mostBytes) {
    reject(names.entry, "it has more than " + last + " bytes");
    return std::nullopt;
  }
  return opened(names.entry, key, reply->text, accept);
}

/// One look for an entry, with a try for its lease. An entry that is refused is remembered by
/// `refused`, and counts as none.
RemoteTier::Look RemoteTier::look(const Names &names, const Key &key, const Accept &accept,
                                  const Leasing &leasing, std::string &refused, Blob &found) {
  const std::string milliseconds = std::to_string(leasing.time.count());
  const std::string most = std::to_string(config_.mostBytes);
  const Deadline deadline = Clock::now() + config_.timeout;
  // Somebody who writes garbage as fast as it is refused is not waited for.
  constexpr int tries = 3;
  for (int i = 0; i < tries; ++i) {
    const std::string_view words[] = {"EVAL",        kLookScript,  "2",  names.entry, names.lease,
                                      leasing.token, milliseconds, most, refused};
    const std::optional<Reply> reply = ask(words, config_.mostBytes, deadline, isLook);
    if (!reply)
      return Look::failed;
    if (reply->kind == Reply::Kind::text) {
      if (std::optional<Blob> blob = opened(names.entry, key, reply->text, accept)) {
        found = std::move(*blob);
        return Look::found;
      }
      refused = reply->text.substr(reply->text.size() - std::min(reply->text.size(), kTailBytes));
    } else if (reply->kind == Reply::Kind::number && reply->number == 2) {
      reject(names.entry, "it has more than " + most + " bytes");
      refused = kTooLong;
    } else {
      return reply->number == 1 ? Look::leased : Look::others;
    }
  }
  return Look::failed;
}

Blob RemoteTier::loadOrMake(Kind kind, const Key &key, const Accept &accept,
                            const std::function<Blob()> &make, bool &made) {
  made = false;
  const Names names = namesOf(kind, key);
  const Leasing leasing{newToken(), config_.lease * (kind == Kind::winner ? kLeasesOfSearch : 1)};
  std::string refused;
  Blob blob;
  Look result;
  double waited;
  {
    Timed timed;
    const Clock::time_point start = Clock::now(), end = start + leasing.time + config_.timeout;
    std::chrono::milliseconds pause = kFirstLook;
    bool waits = false;
    while ((result = look(names, key, accept, leasing, refused, blob)) == Look::others &&
           Clock::now() < end && (waits || mayWait())) {
      waits = true;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kSlowestLook);
    }
    if (waits && result != Look::failed)
      noteWait(start, leasing.time, result == Look::others);
    waited = timed.milliseconds();
  }
  support::log().debug("event=remote_look entry={} result={} ms={:.3f}", names.entry,
                       result == Look::found    ? "hit"
                       : result == Look::leased ? "lease"
                       : result == Look::others ? "waited_in_vain"
                                                : "none",
                       waited);
  if (result == Look::found)
    return blob;
  remoteCounters().misses += result != Look::failed;
  made = true;
  if (result != Look::leased)
    return make();
  try {
    const LeaseKeeper keeper(leasing.time / kRenewalsOfLease, kRenewalsOfLease * kLongestInLeases,
                             [&] { return renew(names, leasing); });
    blob = make();
  } catch (...) {
    release(names, leasing.token, Clock::now() + config_.timeout);
    throw;
  }
  Timed timed;
  const Deadline deadline = Clock::now() + config_.timeout;
  if (!put(names, key, blob, leasing.token, deadline))
    release(names, leasing.token, deadline);
  return blob;
}

/// Stores by the script; without a token, whatever is there.
bool RemoteTier::put(const Names &names, const Key &key, const Blob &blob, std::string_view token,
                     Deadline deadline) {
  std::string bytes;
  try {
    bytes = seal_.seal(names.entry, key, blob);
  } catch (const std::exception &error) {
    warnOnce("event=remote_not_stored entry=" + names.entry + " error=" + error.what());
    return false;
  }
  if (bytes.size() > config_.mostBytes) {
    warnOnce("event=remote_not_stored entry=" + names.entry + " bytes=" +
             std::to_string(bytes.size()) + " most=" + std::to_string(config_.mostBytes));
    return false;
  }
  const std::string lives = std::to_string(std::chrono::milliseconds(config_.timeToLive).count());
  std::vector<std::string_view> words;
  if (!token.empty())
    words = {"EVAL", kStoreScript, "2", names.entry, names.lease, token, bytes, lives};
  else if (config_.timeToLive.count())
    words = {"SET", names.entry, bytes, "PX", lives};
  else
    words = {"SET", names.entry, bytes};
  const std::optional<Reply> reply = ask(words, 0, deadline, token.empty() ? isText : isYesOrNo);
  if (!reply)
    return false;
  const bool stored = reply->kind == Reply::Kind::text || reply->number == 1;
  remoteCounters().stores += stored;
  support::log().debug("event=remote_store entry={} bytes={} result={}", names.entry, bytes.size(),
                       stored ? "stored" : "lease_lost");
  // Who lost the lease has none to give back.
  return true;
}

/// Returns false if the lease is another's, or nobody's: it ended before it was renewed.
bool RemoteTier::renew(const Names &names, const Leasing &leasing) {
  const std::string milliseconds = std::to_string(leasing.time.count());
  const std::string_view words[] = {"EVAL",      kRenewScript,  "2",         names.entry,
                                    names.lease, leasing.token, milliseconds};
  const std::optional<Reply> reply = ask(words, 0, Clock::now() + config_.timeout, isYesOrNo);
  const bool lost = reply && reply->number != 1;
  support::log().debug("event=remote_lease entry={} result={}", names.entry,
                       !reply ? "none"
                       : lost ? "lost"
                              : "renewed");
  return !lost; // a server that did not answer is asked again
}

void RemoteTier::release(const Names &names, std::string_view token, Deadline deadline) {
  const std::string_view words[] = {"EVAL", kReleaseScript, "2", names.entry, names.lease, token};
  (void)ask(words, 0, deadline, isYesOrNo);
}

bool RemoteTier::store(Kind kind, const Key &key, const Blob &blob) {
  Timed timed;
  return put(namesOf(kind, key), key, blob, {}, Clock::now() + config_.timeout);
}

} // namespace flydsl::cache
