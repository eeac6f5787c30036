// A function that is called while it is handed over, for what runs
// too often to make a std::function.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace flyemu {

template <class Signature> class FunctionRef;

/// Refers to a function object, which must live as long as it.
template <class R, class... Args> class FunctionRef<R(Args...)> {
public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F &&f)
      : object_(const_cast<void *>(static_cast<const void *>(std::addressof(f)))),
        call_([](void *object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F> *>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

private:
  void *object_;
  R (*call_)(void *, Args...);
};

} // namespace flyemu
