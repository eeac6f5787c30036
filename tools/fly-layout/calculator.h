// Evaluates expressions of the layout algebra given as text: op(argument, ...) -> value.
#pragma once

#include <string>
#include <string_view>

namespace flydsl::layout {

enum class Rendering { Text, Svg };

/// The value of one expression as text. Throws a LayoutError if the operation is unknown, has other
/// arguments, or refuses them.
std::string calculate(std::string_view expression, Rendering rendering = Rendering::Text);

/// One line per operation: its arguments and its result.
std::string operationsHelp();

} // namespace flydsl::layout
