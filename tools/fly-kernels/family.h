// A family of the kernel library as the tool sees it: problems and configurations are named values.
#pragma once

#include "kept_figures.h"
#include "reference/reference.h"
#include "text/fields.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/export.h>
#include <flydsl/kernels/operands.h>

#include <memory>
#include <optional>

namespace fly_kernels {

namespace fx = flydsl;
namespace fk = flydsl::kernels;
using fk::text::changed, fk::text::Enumerations, fk::text::enumerationsOf, fk::text::namesOf,
    fk::text::shown;

/// What a run gave.
struct RunReport {
  fx::Config config;
  double microseconds = 0;          ///< of one run, estimated on the emulator
  std::optional<double> worst = {}; ///< of all outputs, error over bound; none: not checked
  std::string worstOutput = {};
  CallRecord call = {}; ///< on the emulator
};

/// What the tool asks of a family.
class LibraryFamily {
public:
  virtual ~LibraryFamily() = default;
  virtual std::string name() const = 0;
  /// The fields of a problem with their defaults.
  virtual fx::Config defaults() const = 0;
  /// The enumerations among the fields of a problem, and of a configuration.
  virtual const Enumerations &problemEnumerations() const = 0;
  virtual const Enumerations &configEnumerations() const = 0;
  virtual fk::Support supported(const fx::Config &problem, const fx::Target &target) const = 0;
  virtual fk::Support supported(const fx::Config &problem, const fx::Config &config,
                                const fx::Target &target) const = 0;
  virtual std::vector<fx::Config> configs(const fx::Config &problem, std::int64_t m,
                                          const fx::Target &target) const = 0;
  virtual std::vector<fx::Executable> code(const fx::Config &problem, const fx::Config &config,
                                           const fx::Target &target) const = 0;
  /// What a run is compared with.
  enum class Against { reference, nothing };
  virtual RunReport run(const fx::Config &problem, const std::optional<fx::Config> &config,
                        std::int64_t m, Against against) const = 0;
  /// The same call without its time.
  virtual RunReport check(const fx::Config &problem, const std::optional<fx::Config> &config,
                          std::int64_t m) const = 0;
  /// The bytes of all operands of a call with the configuration that is chosen; 2^62 for more.
  virtual std::int64_t bytes(const fx::Config &problem, std::int64_t m,
                             const fx::Target &target) const = 0;
  virtual fx::AutotuneResult tune(const fx::Config &problem, std::int64_t m,
                                  const fx::AutotuneOptions &options) const = 0;
  /// Adds a problem to a list, for about m rows.
  virtual void add(fk::ExportList &list, const fx::Config &problem, std::int64_t m) const = 0;
};

/// Throws flydsl::Error where the emulator leaves out matrix products, so that nothing can be said of results.
void expectProducts();

/// All families of the library, by name.
std::vector<std::unique_ptr<LibraryFamily>> families();

} // namespace fly_kernels
