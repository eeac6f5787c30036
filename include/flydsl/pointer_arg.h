// Addresses as arguments: what a launch passes for a parameter of type fx::Pointer.
#pragma once

#include <flydsl/host/args.h>

FLYDSL_NAMESPACE_BEGIN

/// What a launch passes for a parameter of type fx::Pointer: an address in global memory and the
/// type of the elements there. The type is part of the signature, the address is not. Nothing says
/// how far the memory reaches; a tensor does. A launch with a null pointer, or with one that is not
/// a multiple of the element's size, is a TraceError.
class PointerArg {
public:
  PointerArg(const void *address, DType type) : address_(address), type_(type) {}
  /// float, std::int32_t, fx::bfloat16_t: whatever a DeviceArray may hold.
  template <class T>
    requires requires { DTypeOf<std::remove_const_t<T>>::value; }
  PointerArg(T *address) : PointerArg(address, dtype_of<T>) {}

  /// The address that the kernel gets.
  const void *address() const { return address_; }
  /// The type of the elements there.
  DType dtype() const { return type_; }

private:
  const void *address_;
  DType type_;
};

FLYDSL_NAMESPACE_END
