// Shared memory (LDS) of a block.
#pragma once

#include <flydsl/tensor.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API Handle sharedStatic(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc);
FLYDSL_API Handle sharedDynamic(std::int64_t offset, std::int64_t alignment, DType type, Loc loc);
/// Throws TraceError if a layout is known to reach past `count` elements.
FLYDSL_API void expectWithin(const Handle &layout, std::int64_t count, Loc loc);
/// The memory that an Array allocates from while a SharedAllocator makes a struct that contains it.
class FLYDSL_API SharedArena {
public:
  static Handle place(std::int64_t bytes, std::int64_t alignment, DType type);

protected:
  SharedArena(bool isStatic, Loc loc) : static_(isStatic), loc_(loc) {}
  Handle next(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc);
  void enter(Loc loc);
  void leave();

  bool static_;
  Loc loc_;
  std::int64_t used_ = 0;
  SharedArena *outer_ = nullptr;
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

/// Allocates shared memory of the block:
///
///   struct Storage { fx::Array<fx::Float16, 128 * 64, 16> a; fx::Array<fx::Float32, 64> sums; };
///   auto shared = fx::SharedAllocator().allocate<Storage>();
///   fx::Tensor sA = shared.a.view(layout);
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
  /// The number of bytes allocated so far, including gaps for alignment. A launch needs as much
  /// dynamic shared memory.
  std::int64_t bytes() const { return used_; }
};

/// A pointer to the start of the launch's dynamic shared memory, typed as elements of `type`.
FLYDSL_API Pointer get_dyn_shared(DType type = u8, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
