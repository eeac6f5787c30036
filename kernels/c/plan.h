// A plan behind the C interface, whatever its family.
#pragma once

#include <flydsl/host/group.h>
#include <flydsl/kernels.h>
#include <flydsl/kernels/plan.h>

#include <memory>
#include <span>
#include <string>

/// What the opaque pointers of flydsl/kernels.h point to.
struct flydsl_plan {
  virtual ~flydsl_plan() = default;
  virtual void call(std::span<const flydsl_argument> arguments, flydsl::StreamRef stream) const = 0;
  virtual void check(flydsl::StreamRef stream) const = 0;
  virtual std::size_t workspaceBytes(std::int64_t rows) const = 0;
  virtual std::string text() const = 0;
};

/// A rank's part in a group.
struct flydsl_group {
  flydsl::Group group;
};

FLYDSL_NAMESPACE_BEGIN
namespace kernels::c {

/// A problem or a configuration that a target does not support.
class Unsupported : public Error {
public:
  using Error::Error;
};

/// How a plan is asked for.
struct Asked {
  std::string problem; ///< FAMILY [FIELD=VALUE ...]
  std::int64_t rows = 1;
  Target target;
  std::string config; ///< [FIELD=VALUE ...]
  std::string file;   ///< empty: it is compiled
  PlanOptions options = {};
};

/// Throws Unsupported, and Error for a text that is none of a problem.
void expectSupported(const std::string &problem, const Target &target);
std::unique_ptr<flydsl_plan> makePlan(const Asked &asked);

} // namespace kernels::c
FLYDSL_NAMESPACE_END
