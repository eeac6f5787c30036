#include "builder/coop/block.h"
#include "builder/kernel/lanes.h"

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

BlockCollective::BlockCollective(const char *what, ValueType type, int threads, Loc loc)
    : what_(what), type_(std::move(type)), threads_(threads) {
  const std::string name = what;
  for (DType field : type_.fields())
    if (!field || (field != boolean && field.bits() % 8 != 0))
      throw TraceError(name + " takes numbers of whole bytes, not " + std::string(field.name()),
                       loc);
  if (type_.fields().empty())
    throw TraceError(name + " of values without a number", loc);
  const int block = impl::blockThreads(loc), wave = gpu::num_warp_threads(loc);
  if (threads != block)
    throw TraceError(name + " for " + std::to_string(threads) + " threads in a block of " +
                         std::to_string(block) + ": all threads of the block take part",
                     loc);
  if (threads % wave && (threads > wave || (threads & (threads - 1))))
    throw TraceError(name + " for " + std::to_string(threads) +
                         " threads: neither a whole number of waves of " + std::to_string(wave) +
                         " nor a power of two below",
                     loc);
}

BlockCollective::BlockCollective(const char *what, ValueType type, int threads, int items, Loc loc)
    : BlockCollective(what, std::move(type), threads, loc) {
  items_ = items;
  if (items < 1)
    throw TraceError(std::string(what) + " of " + std::to_string(items) +
                         " items per thread: each thread has at least one",
                     loc);
}

void BlockCollective::expectItems(const impl::Items &items, Loc loc) const {
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

void BlockCollective::expectValue(const char *name, const impl::Fields &value, Loc loc) const {
  const ValueType given(impl::typesOf(what_, value, loc));
  if (given != type_)
    throw TraceError(std::string(what_) + " for values of type " + type_.str() + " is given " +
                         name + " of type " + given.str(),
                     loc);
}

void BlockCollective::expectStorage(const Storage &storage, Loc loc) const {
  if (storage.bytes() < storage_.bytes)
    throw TraceError(std::string(what_) + " needs " + std::to_string(storage_.bytes) +
                         " bytes of shared memory, the storage has " +
                         std::to_string(storage.bytes()) +
                         ": allocate .storage() of each "
                         "collective that uses it, a.storage() | b.storage()",
                     loc);
}

namespace impl {

int blockThreads(Loc loc) {
  const std::array<int, 3> block = gpu::known_block_size(loc);
  return block[0] * block[1] * block[2];
}

Thread::Thread(Loc loc)
    : lanes_(std::min(gpu::num_warp_threads(loc), blockThreads(loc))),
      waves_(blockThreads(loc) / lanes_),
      number_(gpu::impl::threadNumber(gpu::known_block_size(loc), loc), loc),
      wave_(waves_ == 1 ? Expr(i32, 0, loc) : Lanes::scalar(number_ / lanes_)),
      lane_(waves_ == 1 ? number_ : number_ & (lanes_ - 1)) {}

/// The type that a field has in memory.
static DType storedType(DType type) { return type == boolean ? u8 : type; }

Pointer SharedValues::at(std::size_t field, const Expr &index) const {
  return fields_[field] + IntTuple::Arg(index.number(), index.loc);
}

/// What a field that was read from memory is as a value.
static Expr fromStored(const Expr &stored, DType type) {
  return type == boolean ? stored != 0 : stored;
}

Fields SharedValues::load(const Expr &index) const {
  Fields value;
  for (std::size_t f = 0; f < fields_.size(); ++f)
    value.push_back(fromStored(Expr(at(f, index).load(index.loc), index.loc), types_[f]).handle);
  return value;
}

Fields SharedValues::loadWhere(const Expr &condition, const Expr &index,
                               const Fields &other) const {
  Fields value;
  for (std::size_t f = 0; f < fields_.size(); ++f)
    value.push_back(
        impl::loadWhere(
            condition,
            [&] { return fromStored(Expr(at(f, index).load(index.loc), index.loc), types_[f]); },
            Expr(other[f], index.loc))
            .handle);
  return value;
}

void SharedValues::store(const Expr &index, const Fields &value) const {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Expr field(value[f], index.loc);
    at(f, index).store(
        Numeric::Arg((types_[f] == boolean ? field.to(u8) : field).number(), index.loc));
  }
}

std::size_t Plan::add(const ValueType &type, std::int64_t count) {
  parts_.push_back({type, count, bytes_});
  for (DType field : type.fields())
    bytes_ += aligned(storedType(field).bytes() * count);
  return parts_.size() - 1;
}

Pointer Plan::bytesAt(const Storage &storage, std::int64_t offset, Loc loc) {
  const Pointer &given = storage.start(loc);
  const Pointer start = given.dtype(loc) == u8 ? given : given.recast(u8, loc);
  return offset ? start + IntTuple::Arg(offset, loc) : start;
}

SharedValues Plan::in(const Storage &storage, std::size_t number, Loc loc) const {
  const Part &part = parts_[number];
  std::vector<Pointer> fields;
  std::int64_t offset = part.offset;
  for (DType field : part.type.fields()) {
    fields.push_back(bytesAt(storage, offset, loc).recast(storedType(field), loc));
    offset += aligned(storedType(field).bytes() * part.count);
  }
  return SharedValues(part.type.fields(), std::move(fields));
}

Storage Plan::storageIn(const Storage &storage, std::size_t number, Loc loc) const {
  const Part &part = parts_[number];
  return Storage(bytesAt(storage, part.offset, loc), part.count, loc);
}

} // namespace impl
} // namespace coop
FLYDSL_NAMESPACE_END
