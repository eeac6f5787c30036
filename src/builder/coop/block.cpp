#include "builder/coop/block.h"
#include "builder/kernel/lanes.h"
#include "builder/vendors/vendors.h"

#include <flydsl/error.h>
#include <flydsl/kernel/memory_order.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

BlockCollective::BlockCollective(const char *what, ValueType type, int threads, Loc loc)
    : Collective(what, std::move(type), 0, loc), threads_(threads) {
  const std::string name = what;
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
  expectSomeItems(loc);
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

Thread::Thread(int lanes, const Expr &lane)
    : lanes_(lanes), waves_(1), number_(lane), wave_(i32, 0, lane.loc), lane_(lane) {}

Thread Thread::inGroup(int width, Loc loc) {
  return Thread(width,
                Expr(gpu::impl::threadNumber(gpu::known_block_size(loc), loc), loc) & (width - 1));
}

Expr groupOfThread(int width, Loc loc) {
  return Expr(gpu::impl::threadNumber(gpu::known_block_size(loc), loc), loc) / width;
}

void waitForBlock(Loc loc) { gpu::barrier(loc); }

void waitForWave(Loc loc) {
  fence(MemoryOrder::acq_rel, MemoryScope::wave, loc);
  builder::instructionsFor("a meeting of a wave", loc).meetOfWave(loc);
}

/// The type that a field has in memory.
static DType storedType(DType type) { return type == boolean ? u8 : type; }

Pointer SharedValues::at(std::size_t field, const Expr &index) const {
  return fields_[field] + IntTuple::Arg(index.number(), index.loc);
}

/// What a field that was read from memory is as a value.
static Expr fromStored(const Expr &stored, DType type) {
  return type == boolean ? stored != 0 : stored;
}

SharedValues SharedValues::from(const Expr &first) const {
  std::vector<Pointer> fields;
  for (std::size_t f = 0; f < fields_.size(); ++f)
    fields.push_back(at(f, first));
  return SharedValues(types_, std::move(fields));
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
