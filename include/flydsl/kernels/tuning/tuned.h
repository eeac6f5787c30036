// Configurations that were measured, as a file that `choose` asks first: so they reach `run`, sets of
// plans, lists of plans that are compiled ahead of time, and programs without a compiler.
//
//   fk::TunedConfigs found;                                              // offline, on the GPU
//   for (std::int64_t m : {1, 16, 256})
//     found.set(problem, m, fk::tune(problem, m).config);
//   found.write("tuned.txt");
//
//   fk::TunedConfigs::read("tuned.txt").use();                           // at the start of an engine
#pragma once

#include <flydsl/host/autotune.h>
#include <flydsl/kernels/plan.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A configuration for a problem, about so many rows and a GPU.
struct FLYDSL_API TunedEntry {
  std::string problem = {}; ///< FAMILY FIELD=VALUE ...
  std::string config = {};  ///< FIELD=VALUE ..., all fields
  /// What it was measured for. It serves these rows and fewer, down to more than half as many; of
  /// several that serve, the one with the fewest rows does.
  std::int64_t rows = 0;
  std::string target = {}; ///< "gfx942"
  int compute_units = 0;   ///< those of the GPU, as flydsl/host/product.h counts them
  double microseconds = 0; ///< of a call; 0 if it is not known
  friend bool operator==(const TunedEntry &, const TunedEntry &) = default;
};

namespace impl {
FLYDSL_API TunedEntry tunedEntryOf(std::string_view family, const Config &problem,
                                   const Config &config, std::int64_t rows, double microseconds,
                                   const Target &target);
/// The rows up to `most` at which entries of a family that are in use begin to serve, and after which
/// they end.
FLYDSL_API std::vector<std::int64_t> tunedRows(std::string_view family, std::int64_t most);
} // namespace impl

/// Configurations of any problems and GPUs. Each is one that its family supports: others are refused when
/// they are set or read, by an Error that names the line of the file.
class FLYDSL_API TunedConfigs {
public:
  /// Reads a file that `write` made. Throws Error with the line if it is no such file, if it is damaged,
  /// if a family or a field is not there any more, or if a configuration is not supported on its target.
  static TunedConfigs read(const std::string &path);
  /// The same, but lines that this library refuses are left out, and `refused` gets a sentence for
  /// each. A file that is damaged is refused as a whole.
  static TunedConfigs read(const std::string &path, std::vector<std::string> &refused);

  /// Adds an entry, or replaces that of the same problem, rows and GPU. Fields of the problem that are
  /// not among its words have their defaults. Throws Error for words that are none of a problem or of its
  /// configuration, and for a configuration that the target does not support.
  TunedConfigs &set(const TunedEntry &entry);
  /// The same of a problem and a configuration, for the product in hand of a target
  /// (flydsl/host/product.h).
  template <Problem P>
  TunedConfigs &set(const P &problem, std::int64_t rows,
                    const std::type_identity_t<ConfigOf<P>> &config, double microseconds = 0,
                    const Target &target = Device::current().target()) {
    return set(impl::tunedEntryOf(FamilyOf<P>::name, to_config(problem), to_config(config), rows,
                                  microseconds, target));
  }
  /// The entries, each with all fields of its problem.
  const std::vector<TunedEntry> &entries() const { return entries_; }
  /// Writes the file: a line for each entry. It appears whole or not at all. Throws RuntimeError if it
  /// can't be written.
  void write(const std::string &path) const;

  /// From now on `choose`, and all that asks it, gives these in place of what the families' tables say, to
  /// calls for their problems, rows and GPUs. They replace those that were in use: none after
  /// TunedConfigs().use(). Without a call of it those of the file that FLYDSL_KERNELS_TUNED names
  /// are in use. Plans that are there stay as they are.
  void use() const;

private:
  static TunedConfigs read(const std::string &path, std::vector<std::string> *refused);
  std::vector<TunedEntry> entries_;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
