// What operations have touched, byte by byte, and which of them have no order.
#pragma once

#include "emulator/core/touched_bytes.h"
#include "emulator/hip/order/clock.h"

#include <functional>
#include <list>
#include <unordered_map>

namespace flyemu::hip {

struct Function;

/// An operation that touches memory.
struct Toucher {
  Position position;
  std::string what;                   ///< "kernel 'add'", "a copy from host to device memory"
  std::shared_ptr<Function> function; ///< of a kernel
  /// Its stores of device scope look like plain ones, so that a load of that scope may expect them.
  bool looseStores = false;
};
using ToucherRef = std::shared_ptr<const Toucher>;

/// One of the two accesses of a conflict.
struct ConflictSide {
  ToucherRef by;
  TouchKind kind = TouchKind::Read;
  uint32_t inst = TouchedPage::kNone; ///< the first one that touches bytes near the place so
};

struct Conflict {
  ConflictSide before, now; ///< as they were noted; they have no order
  uint64_t address = 0;
};

/// The accesses that an operation yet to come may conflict with. An access is forgotten when a later
/// one that comes after it conflicts with all that it would conflict with.
class TouchHistory {
public:
  /// Called with each operation that is not ordered with a new one: at the lowest byte of a
  /// conflict, if there is one; `talks` if one has looked, by loads of device scope, at what the
  /// other writes by operations of that scope, so that they may have ordered themselves.
  using Visit = std::function<void(const ToucherRef &other, const Conflict *conflict, bool talks)>;

  void add(const ToucherRef &by, TouchedBytes &&touched, const Visit &visit);
  /// Forgets what was touched of [base, base + bytes): it is another allocation's now.
  void forget(uint64_t base, uint64_t bytes);
  /// Forgets the operations that come before all that may come yet.
  void forget(const std::function<bool(const Submission &)> &isOver);

private:
  struct Entry {
    ToucherRef by;
    TouchedBytes::Page page;
  };
  using Entries = std::vector<Entry>;
  std::unordered_map<uint64_t, Entries> pages_; ///< by number
  /// The pages of each operation, from the eldest on.
  std::list<std::pair<std::weak_ptr<const Toucher>, std::vector<uint64_t>>> order_;
  size_t swept_ = 0; ///< operations left by the last sweep
  void sweep();
};

} // namespace flyemu::hip
