// Which sanitizer this code is compiled with, for the few places that cannot do under it what they
// do without.
#pragma once

#ifdef __has_feature
#define FLYDSL_HAS_FEATURE(feature) __has_feature(feature)
#else // GCC before 14, which defines names instead
#define FLYDSL_HAS_FEATURE(feature) 0
#endif

namespace flydsl::support {

#if defined(__SANITIZE_ADDRESS__) || FLYDSL_HAS_FEATURE(address_sanitizer)
inline constexpr bool kUnderAddressSanitizer = true;
#else
inline constexpr bool kUnderAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || FLYDSL_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

} // namespace flydsl::support

#undef FLYDSL_HAS_FEATURE
