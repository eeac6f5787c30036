// A line on the terminal that shows the progress of a tool and is rewritten as the tool continues.
#pragma once

#include <cstdio>
#include <string>
#include <unistd.h>

namespace flydsl::tools {

/// Writes to standard error. If that is not a terminal, each text stays on a line of its own, or
/// none is written.
class ProgressLine {
public:
  enum class Elsewhere { lines, nothing };
  explicit ProgressLine(Elsewhere elsewhere)
      : terminal_(isatty(STDERR_FILENO)), elsewhere_(elsewhere) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  void show(const std::string &text) {
    if (terminal_)
      std::fprintf(stderr, "\r\033[K%s", text.c_str());
    else if (elsewhere_ == Elsewhere::lines)
      std::fprintf(stderr, "%s\n", text.c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  /// Clears the line. Call it before anything else is written, and at the end.
  void clear() {
    if (terminal_ && shown_)
      std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

private:
  bool terminal_;
  Elsewhere elsewhere_;
  bool shown_ = false;
};

} // namespace flydsl::tools
