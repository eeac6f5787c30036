// A program of hipRTC: HIP C++ as text, compiled to a code object.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace flyemu::hip {

class RtcProgram {
public:
  struct Header {
    std::string name; ///< as the source includes it
    std::string text;
  };
  /// Throws RtcError if a header's name is none of a file in a folder.
  RtcProgram(std::string source, std::string name, std::vector<Header> headers);

  /// Asks for the lowered name of a kernel or variable, such as `scale<float>` or `&table`.
  void addName(const std::string &expression);
  /// Compiles by the system's Clang. Throws RtcError; the log says why.
  void compile(const std::vector<std::string> &options, const std::string &deviceTarget);

  std::string log() const;
  /// The code object. Throws RtcError before a compile that has succeeded.
  std::string code() const;
  /// The symbol of an expression; it lives as long as the program.
  const char *loweredName(const std::string &expression) const;

private:
  void writeFiles(const std::filesystem::path &folder, unsigned isaVersion) const;
  void readNames();

  const std::string source_, name_;
  const std::vector<Header> headers_;
  mutable std::mutex mutex_;
  std::vector<std::string> expressions_;
  std::map<std::string, std::string> lowered_;
  bool tried_ = false;
  std::string log_, code_;
};

} // namespace flyemu::hip
