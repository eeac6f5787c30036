// Kernels that go over a row several times, whether its values stay in registers or are read again.
#pragma once

#include "blocks/rows/row.h"

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The values of a row in f32, made of one or more operands, for passes over them.
class RowPasses {
public:
  using Cursor = RowThread::Cursor;
  /// Makes the f32 values of one access of what was read from each source. It is called once for
  /// each access, and may store.
  using Make = std::function<Vector(const Cursor &, const std::vector<Vector> &)>;

  using Map = std::function<Vector(const Cursor &, const Vector &)>;

  /// The first pass reads `sources` and makes the row's values of them. If the row does not stay in registers
  /// (RowConfig::resident), later passes read `stored`: a source, or the operand to which `make` has stored the
  /// values in the first pass.
  RowPasses(const RowThread &thread, const RowConfig &config, RowReduce &reduce,
            std::vector<Tensor> sources, Tensor stored, Make make)
      : thread_(thread), resident_(config.resident), reduce_(reduce), sources_(std::move(sources)),
        stored_(std::move(stored)), make_(std::move(make)) {
    if (!resident_)
      return;
    std::vector<RowValues> raw;
    for (const Tensor &source : sources_)
      raw.push_back(thread_.load(source, 0));
    thread_.visit([&](const Cursor &at) {
      std::vector<Vector> parts;
      for (const RowValues &values : raw)
        parts.push_back(values[at.slot()]);
      values_.push_back(make_(at, parts));
    });
  }

  /// Replaces all values v by f(v). In registers it is done here; otherwise f is applied to the values that
  /// each later pass reads.
  void map(Map f) {
    if (!resident_) {
      maps_.push_back(std::move(f));
      return;
    }
    RowValues mapped;
    thread_.visit([&](const Cursor &at) { mapped.push_back(f(at, values_[at.slot()])); });
    values_ = std::move(mapped);
  }

  /// Combines f of all values of the row: f gives a vector of the size of its argument, whose
  /// elements past the row are `neutral`.
  Numeric reduce(Reduction op, const Map &f, DType dtype = f32) {
    if (resident_) {
      RowValues results;
      thread_.visit([&](const Cursor &at) { results.push_back(f(at, values_[at.slot()])); });
      return reduce_(combine(results, op), op);
    }
    // Sums and maxima of magnitudes start at 0.
    const Numeric start = dtype == f32 ? Numeric(Float32(0.0f)) : Numeric(UInt32(0));
    const Var<Numeric> all(start);
    pass([&](const Cursor &at, const Vector &values) {
      all = twoOf<Numeric>(all.get(), f(at, values).reduce(op), op);
    });
    return reduce_(all.get(), op);
  }
  /// Calls f with the values of each access.
  void each(const std::function<void(const Cursor &, const Vector &)> &f) {
    if (resident_)
      thread_.visit([&](const Cursor &at) { f(at, values_[at.slot()]); });
    else
      pass(f);
  }

private:
  void pass(const std::function<void(const Cursor &, const Vector &)> &f) {
    const bool first = std::exchange(first_, false);
    thread_.stream([&](const Cursor &at) {
      std::vector<Vector> parts;
      if (first)
        for (const Tensor &source : sources_)
          parts.push_back(at.load(source, 0));
      f(at, mapped(at, first ? make_(at, parts) : at.load(stored_, 0).to(f32), maps_));
    });
  }
  /// The values after all maps.
  static Vector mapped(const Cursor &at, const Vector &values, std::span<const Map> maps) {
    return maps.empty() ? values : mapped(at, maps[0](at, values), maps.subspan(1));
  }

  const RowThread &thread_;
  bool resident_, first_ = true;
  RowReduce &reduce_;
  std::vector<Tensor> sources_;
  Tensor stored_;
  Make make_;
  RowValues values_;
  std::vector<Map> maps_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
