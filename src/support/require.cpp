#include <flydsl/kernel/require.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

void failRequirement(std::string_view text, const std::string *values,
                     const std::source_location &where) {
  std::string message;
  while (true) {
    const std::size_t place = text.find("{}");
    message += text.substr(0, place);
    if (place == std::string_view::npos)
      break;
    message += *values++;
    text.remove_prefix(place + 2);
  }
  throw TraceError(message, where);
}

} // namespace detail
FLYDSL_NAMESPACE_END
