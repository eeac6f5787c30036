// How threads have the items of a tile, and how they read and write them.
#pragma once

#include <flydsl/tensor.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// Which items of a sequence a thread has, of n items per thread: thread t has the items t * n + i;
/// the items t + threads * i; or, as striped ones, a part of its wave's items, which are neighbours.
enum class Order { blocked, striped, warp_striped };

/// How a tile is accessed.
struct Transfer {
  Order order;              ///< of the accesses to memory
  bool asVector = false;    ///< a thread's items as one vector, of a whole tile
  bool viaExchange = false; ///< items are blocked, and exchanged through shared memory
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
