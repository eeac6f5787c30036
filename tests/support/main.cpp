// The entry point that all Catch2 programs share; Catch2's implementation is compiled here once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
