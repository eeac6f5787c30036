// Rows of the table of processors, by name.
#pragma once

#include "target/processors.h"

#include <catch2/catch.hpp>

/// The row of a processor that exists.
inline const flydsl::detail::Processor &processor(std::string_view name) {
  const flydsl::detail::Processor *row = flydsl::detail::findProcessor(name);
  INFO(name);
  REQUIRE(row);
  return *row;
}
