// What the command-line tools share: how they end when their words or their work fail.
#pragma once

#include "support/text.h"

#include <flydsl/error.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace flydsl::tools {

/// The exit status of a tool whose command line is wrong.
constexpr int kUsageStatus = 2;

/// Makes text that may come from a file safe for a terminal.
inline std::string shown(std::string_view text) { return support::printable(text, "\n\t"); }

/// The message of an error without the place in front of it. That place is a call in a tool or in
/// the library, in a file that the tool's user does not have.
inline std::string messageOf(const std::exception &error) {
  const std::string text = error.what();
  const auto *placed = dynamic_cast<const Error *>(&error);
  if (!placed || !placed->where().known())
    return text;
  const std::string place =
      placed->where().file + ":" + std::to_string(placed->where().line) + ": ";
  return text.starts_with(place) ? text.substr(place.size()) : text;
}

/// Parses the command line by `app`, then calls `work`, whose result is the exit status. Help goes
/// to standard output. A wrong command line ends with status 2, an exception of `work` with
/// `failureStatus`; both are told on standard error, after the tool's name.
template <class Work>
int runTool(CLI::App &app, int argc, char **argv, Work work, int failureStatus = 1) {
  const std::string name = app.get_name();
  try {
    app.parse(argc, argv);
    return work();
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "%s: %s\n\n%s", name.c_str(), shown(error.what()).c_str(),
                 app.help().c_str());
    return kUsageStatus;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), shown(messageOf(error)).c_str());
    return failureStatus;
  }
}

} // namespace flydsl::tools
