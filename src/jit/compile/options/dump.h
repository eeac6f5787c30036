// Numbered files of one compile: FLYDSL_DUMP_DIR/<kernel>/NN_<stage>.<extension>.
#pragma once

#include <string>
#include <string_view>

namespace flydsl::jit {

/// The directory in which FLYDSL_DUMP_IR and FLYDSL_DUMP_DIR ask for dumps; empty if they ask for
/// none.
std::string dumpDirFromEnvironment();
/// FLYDSL_DUMP_DIR or its default, whether dumps are asked for or not: reproducers go there too.
std::string dumpDir();

/// Writes one file of a dump. Empty on success; else why not, which is in the log.
std::string writeDump(const std::string &path, std::string_view text);

/// Writes stages in order. A file that can't be written is logged, never an error.
class Dump {
public:
  /// Nothing is written for an empty `root`. `kernel` becomes the folder's name, made safe for a
  /// file system; two kernels' folders have two names.
  Dump(const std::string &root, std::string_view kernel);

  bool enabled() const { return !folder_.empty(); }
  const std::string &folder() const { return folder_; }
  /// Writes the next stage; returns the path, or "" where nothing was written.
  std::string write(std::string_view stage, std::string_view extension, std::string_view text);

private:
  std::string folder_;
  unsigned next_ = 0;
};

/// The name of a stage in a file name: "gpu.module(cse,convert-gpu-to-rocdl{x=1})" ->
/// "cse_convert_gpu_to_rocdl".
std::string stageName(std::string_view passes);

} // namespace flydsl::jit
