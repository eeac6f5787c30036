// The command line of a program: its options, and errors as a message and an exit status.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace samples {

/// Declares the options of a program, reads them from its command line, and runs it. Returns the
/// program's own exit status, 0 after --help, or 2 after an error's message.
template <class Options>
int main(int argc, char **argv, const char *name, const char *what,
         void (*declare)(CLI::App &, Options &), int (*run)(Options &)) {
  CLI::App app(what, name);
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
    return run(options);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

} // namespace samples
