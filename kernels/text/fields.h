// The fields of a problem or a configuration as words: FIELD=VALUE.
#pragma once

#include "text/enumerations.h"

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::text {

/// The number that a text is, for `field`. Throws Error if it is none.
std::int64_t numberOf(const std::string &field, const std::string &text);

/// The entries with the values that words FIELD=VALUE give some of them. Throws Error for a word that
/// names no field, or a value that the field can't have.
Config changed(const Config &config, const Enumerations &enumerations,
               std::span<const std::string> words);

/// The words of a text, which white space separates.
std::vector<std::string> wordsOf(const std::string &text);

} // namespace kernels::text
FLYDSL_NAMESPACE_END
