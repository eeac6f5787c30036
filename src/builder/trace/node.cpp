#include "builder/trace/node.h"

#include "llvm/Support/xxhash.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

Handle::Handle(const Handle &other) noexcept : node_(other.node_) {
  if (node_)
    node_->retain();
}

Handle::~Handle() {
  if (node_)
    node_->release();
}

const StaticArg &Node::digest(const std::string &text) {
  std::call_once(digested_, [&] {
    llvm::XXH128_hash_t h = llvm::xxh3_128bits(
        llvm::ArrayRef(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()));
    static_.object = this;
    static_.digest[0] = h.low64;
    static_.digest[1] = h.high64;
  });
  return static_;
}

std::string LazyIndex::str() const {
  if (kind == Kind::lane)
    return "gpu::lane_id()";
  auto name = [&] {
    switch (kind) {
    case Kind::thread:
      return "thread_idx";
    case Kind::block:
      return "block_idx";
    case Kind::block_size:
      return "block_dim";
    case Kind::grid_size:
    case Kind::lane:
      break;
    }
    return "grid_dim";
  }();
  return std::string(name) + "()." + "xyz"[static_cast<unsigned>(dimension)];
}

Handle hostHandle(HostValue value, DType dtype) {
  return Handle(new Node(HostContent{std::move(value)}, dtype));
}

Handle tupleHandle(layout::IntTuple tuple, std::vector<DynamicLeaf> leaves) {
  return Handle(new Node(HostContent{std::move(tuple), std::move(leaves)}, {}));
}

} // namespace detail
FLYDSL_NAMESPACE_END
