// What collectives that are objects check, and the storage that they work in.
#include "builder/coop/block.h"
#include "builder/kernel/lanes.h"

#include <flydsl/coop/warp_collective.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

Storage::Storage(SharedAllocator &shared, StorageSize size, Loc loc) : bytes_(size.bytes) {
  if (bytes_ > 0)
    start_.emplace(shared.allocate(bytes_, std::max<std::int64_t>(size.alignment, 16), loc));
}

Storage::Storage(const Pointer &start, std::int64_t bytes, Loc loc) : bytes_(bytes) {
  if (start.address_space(loc) != AddressSpace::shared)
    throw TraceError("the storage of a collective is in shared memory, and this pointer is not: "
                     "fx::SharedAllocator gives one",
                     loc);
  if (start.alignment(loc) % 16)
    throw TraceError("the storage of a collective is aligned to 16 bytes, and this pointer to " +
                         std::to_string(start.alignment(loc)) +
                         ": fx::SharedAllocator().allocate(bytes, 16)",
                     loc);
  start_.emplace(start);
}

const Pointer &Storage::start(Loc loc) const {
  if (!start_)
    throw TraceError("a storage of no bytes has no place", loc);
  return *start_;
}

Collective::Collective(const char *what, ValueType type, int items, Loc loc)
    : what_(what), type_(std::move(type)), items_(items) {
  const std::string name = what;
  for (DType field : type_.fields())
    if (!field || (field != boolean && field.bits() % 8 != 0))
      throw TraceError(name + " takes numbers of whole bytes, not " + std::string(field.name()),
                       loc);
  if (type_.fields().empty())
    throw TraceError(name + " of values without a number", loc);
}

void Collective::expectSomeItems(Loc loc) const {
  if (items_ < 1)
    throw TraceError(std::string(what_) + " of " + std::to_string(items_) +
                         " items per thread: each thread has at least one",
                     loc);
}

void Collective::expectItems(const impl::Items &items, Loc loc) const {
  const ValueType given(impl::typesOf(what_, items, loc));
  if (given != type_)
    throw TraceError(std::string(what_) + " for values of type " + type_.str() +
                         " is given items of type " + given.str(),
                     loc);
  if (items_ && items_ != static_cast<int>(items.size()))
    throw TraceError(std::string(what_) + " for " + std::to_string(items_) +
                         " items per thread is given " + std::to_string(items.size()),
                     loc);
}

void Collective::expectStorage(const Storage &storage, Loc loc) const {
  if (storage.bytes() < storage_.bytes)
    throw TraceError(std::string(what_) + " needs " + std::to_string(storage_.bytes) +
                         " bytes of shared memory, the storage has " +
                         std::to_string(storage.bytes()) +
                         ": allocate .storage() of each collective that uses it, a.storage() | "
                         "b.storage()",
                     loc);
}

void Collective::expectValid(const IntTuple &valid, std::int64_t least, std::int64_t count,
                             Loc loc) const {
  impl::expectCount(what_, valid, least, count, loc);
}

WarpCollective::WarpCollective(const char *what, ValueType type, int items, int width, Loc loc)
    : Collective(what, std::move(type), items, loc), width_(gpu::impl::groupWidth(width, loc)) {
  expectSomeItems(loc);
  impl::blockThreads(loc); // refuses a block of unknown size, whose groups have no number
  gpu::impl::expectFullGroups(what, width_, loc);
}

} // namespace coop
FLYDSL_NAMESPACE_END
