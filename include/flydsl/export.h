// The visibility macro of the library, and its versioned namespace.
#pragma once

#if defined(FLYDSL_BUILDING)
#define FLYDSL_API __attribute__((visibility("default")))
#else
#define FLYDSL_API
#endif

/// Every public name is in flydsl::v1, so that two incompatible versions of the library in one
/// process do not get mixed up.
#define FLYDSL_NAMESPACE_BEGIN                                                                     \
  namespace flydsl {                                                                               \
  inline namespace v1 {
#define FLYDSL_NAMESPACE_END                                                                       \
  }                                                                                                \
  }
