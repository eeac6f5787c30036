// Shared memory (LDS) of a block.
#pragma once

#include <flydsl/kernel/tensor.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <tuple>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API Handle sharedDynamic(std::int64_t offset, std::int64_t alignment, DType type, Loc loc);
/// Throws TraceError if a layout is known to reach past `count` elements.
FLYDSL_API void expectWithin(const Handle &layout, std::int64_t count, Loc loc);
/// The number of elements that a static layout reaches. Throws TraceError for other layouts.
FLYDSL_API std::int64_t reachOf(const Handle &layout, Loc loc);
/// The memory that an Array allocates from while a SharedAllocator makes a struct that contains it.
class FLYDSL_API SharedArena {
public:
  static Handle place(std::int64_t bytes, std::int64_t alignment, DType type);

protected:
  SharedArena(bool isStatic, Loc loc) : static_(isStatic), loc_(loc) {}
  Handle next(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc);
  void enter(Loc loc);
  void leave();

  /// Makes this the arena of bytes of `owner` that several phases use one after another.
  /// They begin at a multiple of `alignment`.
  void beginOverlay(SharedArena &owner, std::int64_t alignment, Loc loc);
  /// Puts the next allocation at the start of those bytes again.
  void beginPhase();
  /// Takes those bytes, as many as the largest phase used, from the owner.
  void endOverlay(SharedArena &owner) noexcept;

  bool static_;
  Loc loc_;
  std::int64_t used_ = 0; ///< bytes, from `origin_` on
  SharedArena *outer_ = nullptr;

private:
  void reach(std::int64_t end, Loc loc) const;

  // Of an overlay's arena:
  Handle base_;                ///< the variable in which it lies; null in dynamic memory
  std::int64_t origin_ = 0;    ///< the offset in that memory at which it begins
  std::int64_t most_ = 0;      ///< bytes of the largest phase so far
  std::int64_t alignment_ = 1; ///< the largest of its allocations
  std::size_t account_ = 0;    ///< the variable's entry in the trace's account
};
/// The size of `count` elements. It saturates at 2^48 bytes, which no shared memory has, so that
/// the allocation is refused.
constexpr std::int64_t bytesOf(DType type, std::int64_t count) {
  constexpr std::int64_t most = std::int64_t(1) << 48;
  return count > most ? most : (type.memory_bits() * count + 7) / 8;
}
} // namespace detail

/// `N` elements of a scalar type in shared memory, as a field of a struct for
/// SharedAllocator::allocate. `Align` is in bytes; 0 is the alignment of an element.
template <class T, std::int64_t N, int Align = 0> class Array {
  static_assert(N > 0, "an Array has elements");
  static constexpr int alignment = Align ? Align : T::type.bytes();

public:
  /// The number of elements.
  static constexpr std::int64_t size = N;
  Array() : pointer_(detail::SharedArena::place(detail::bytesOf(T::type, N), alignment, T::type)) {}
  Array(const Array &) = default;
  Array &operator=(const Array &) = delete;

  /// A pointer to the first element.
  const Pointer &ptr() const { return pointer_; }
  /// The memory seen through a layout. Throws TraceError if the layout is known to reach past the
  /// array.
  Tensor view(const Layout &layout, Loc loc = Loc::current()) const {
    detail::expectWithin(layout.handle(), N, loc);
    return make_view(pointer_, layout, loc);
  }
  Tensor view(const ComposedLayout &layout, Loc loc = Loc::current()) const {
    detail::expectWithin(layout.handle(), N, loc);
    return make_view(pointer_, layout, loc);
  }
  /// The memory as a vector of N elements.
  Tensor view(Loc loc = Loc::current()) const { return view(make_layout(N, 1, loc), loc); }

private:
  Pointer pointer_;
};

/// The place of shared memory. `static_`: each Array is a variable of its own, which the compiler
/// counts. `dynamic`: Arrays lie at rising offsets in the dynamic shared memory that the launch
/// asks for.
enum class SharedPlacement { static_, dynamic };

/// A tensor in shared memory that is to be made: its element type and its layout, which is static.
/// `alignment` is in bytes; 0 is 16 bytes, with which every access of a thread is aligned.
struct SharedTensor {
  SharedTensor(DType type, const Layout &layout, std::int64_t alignment = 0)
      : type(type), layout(layout.handle()), alignment(alignment ? alignment : 16) {}
  SharedTensor(DType type, const ComposedLayout &layout, std::int64_t alignment = 0)
      : type(type), layout(layout.handle()), isComposed(true),
        alignment(alignment ? alignment : 16) {}

  DType type;
  detail::Handle layout;
  bool isComposed = false;
  std::int64_t alignment;
};

/// Allocates shared memory of the block:
///
///   struct Storage { fx::Array<fx::Float16, 128 * 64, 16> a; fx::Array<fx::Float32, 64> sums; };
///   fx::SharedAllocator shared;
///   auto storage = shared.allocate<Storage>();
///   fx::Tensor sA = storage.a.view(layout);
///   fx::Tensor sB = shared.tensor(type, layout);  // type and layout may be computed while tracing
///
/// What is over the memory that a workgroup of the target may have is refused while tracing.
class SharedAllocator : detail::SharedArena {
public:
  explicit SharedAllocator(SharedPlacement placement = SharedPlacement::static_,
                           Loc loc = Loc::current())
      : SharedArena(placement == SharedPlacement::static_, loc) {}

  /// Makes a struct whose fields are Arrays (or such structs), or an Array.
  template <class T> T allocate(Loc loc = Loc::current()) {
    enter(loc);
    struct Leave {
      SharedAllocator *self;
      ~Leave() { self->leave(); }
    } leave{this};
    return T{};
  }
  /// Allocates bytes without a type.
  Pointer allocate(std::int64_t bytes, std::int64_t alignment = 16, Loc loc = Loc::current()) {
    return Pointer(next(bytes, alignment, u8, loc));
  }

  /// Makes a tensor with as many elements as its layout reaches. If the placement is static, it is
  /// a variable of its own. Throws TraceError if the layout is not static.
  Tensor tensor(const SharedTensor &what, Loc loc = Loc::current()) {
    const std::int64_t bytes = detail::bytesOf(what.type, detail::reachOf(what.layout, loc));
    const Pointer memory(next(bytes, what.alignment, what.type, loc));
    return what.isComposed ? make_view(memory, ComposedLayout(what.layout), loc)
                           : make_view(memory, Layout(what.layout), loc);
  }
  Tensor tensor(DType type, const Layout &layout, std::int64_t alignment = 0,
                Loc loc = Loc::current()) {
    return tensor(SharedTensor(type, layout, alignment), loc);
  }
  Tensor tensor(DType type, const ComposedLayout &layout, std::int64_t alignment = 0,
                Loc loc = Loc::current()) {
    return tensor(SharedTensor(type, layout, alignment), loc);
  }

  /// Makes several tensors that begin at the same byte:
  ///
  ///   auto [tile, sums] = shared.overlay({{fx::f16, tile_layout}, {fx::f32, sums_layout}});
  ///
  /// What one of them holds is lost when another is written. Put a barrier between the last access
  /// to one and the first to another.
  template <std::size_t N>
  std::array<Tensor, N> overlay(const SharedTensor (&tensors)[N], Loc loc = Loc::current()) {
    std::int64_t alignment = 16;
    for (const SharedTensor &tensor : tensors)
      alignment = std::max(alignment, tensor.alignment);
    SharedAllocator inside(*this);
    const Overlay bytes(*this, inside, loc, alignment);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<Tensor, N>{
          bytes.phase([&](SharedAllocator &phase) { return phase.tensor(tensors[I], loc); })...};
    }(std::make_index_sequence<N>());
  }
  /// The same for phases that need several tensors or structs each. A phase is called with an
  /// allocator of its own, and the results of the phases come back as a pair or tuple:
  ///
  ///   auto [a_and_b, c] = shared.overlay(
  ///       [&](fx::SharedAllocator &s) { return std::pair(s.tensor(...), s.tensor(...)); },
  ///       [&](fx::SharedAllocator &s) { return s.tensor(...); });
  template <std::invocable<SharedAllocator &> First, std::invocable<SharedAllocator &> Second>
  auto overlay(First first, Second second, Loc loc = Loc::current()) {
    SharedAllocator inside(*this);
    const Overlay bytes(*this, inside, loc);
    auto one = bytes.phase(first);
    return std::pair(std::move(one), bytes.phase(second));
  }
  template <std::invocable<SharedAllocator &> First, std::invocable<SharedAllocator &> Second,
            std::invocable<SharedAllocator &> Third>
  auto overlay(First first, Second second, Third third, Loc loc = Loc::current()) {
    SharedAllocator inside(*this);
    const Overlay bytes(*this, inside, loc);
    auto one = bytes.phase(first);
    auto two = bytes.phase(second);
    return std::tuple(std::move(one), std::move(two), bytes.phase(third));
  }

  /// The number of bytes allocated so far, including gaps for alignment. A launch needs as much
  /// dynamic shared memory.
  std::int64_t bytes() const { return used_; }

private:
  /// The bytes of an overlay. The owner goes on after them when this object ends.
  class Overlay {
  public:
    Overlay(SharedAllocator &owner, SharedAllocator &inside, Loc loc, std::int64_t alignment = 16)
        : owner_(owner), inside_(inside) {
      inside.beginOverlay(owner, alignment, loc);
    }
    Overlay(const Overlay &) = delete;
    ~Overlay() { inside_.endOverlay(owner_); }
    template <class Phase> auto phase(const Phase &make) const {
      inside_.beginPhase();
      return make(inside_);
    }

  private:
    SharedAllocator &owner_, &inside_;
  };
};

/// A pointer to the start of the launch's dynamic shared memory, typed as elements of `type`.
FLYDSL_API Pointer get_dyn_shared(DType type = u8, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
