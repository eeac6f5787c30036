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

Handle hostHandle(HostValue value, DType dtype) {
  Node *node = new Node;
  node->host = std::move(value);
  node->dtype = dtype;
  return Handle(node);
}

} // namespace detail
FLYDSL_NAMESPACE_END
