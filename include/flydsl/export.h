// The one visibility macro of the library and its versioned namespace.
#pragma once

#if defined(FLYDSL_BUILDING)
#define FLYDSL_API __attribute__((visibility("default")))
#else
#define FLYDSL_API
#endif

/// Every public name lives in flydsl::v1; two incompatible library versions in one process do not
/// mix.
#define FLYDSL_NAMESPACE_BEGIN                                                                     \
  namespace flydsl {                                                                               \
  inline namespace v1 {
#define FLYDSL_NAMESPACE_END                                                                       \
  }                                                                                                \
  }
