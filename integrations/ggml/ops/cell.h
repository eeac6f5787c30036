// What ops share that compute each element of the result from its coordinates: a thread has an element.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// The parameters of an op; int 0 of the launch is the number of elements, the op's own follow.
struct Own {
  std::vector<std::int32_t> i = {};
  std::vector<float> f = {};
};
using Cell = std::function<fx::Numeric(const Traced &p, const Place &at)>;

inline void cells(const Run &run, std::string name, const ggml_tensor *op, const Own &own,
                  const Cell &cell) {
  const ggml_type type = op->type;
  Launch what{.name = std::move(name), .x = {operandOf(op)}};
  what.name += std::string("_") + ggml_type_name(type);
  for (const ggml_tensor *source : op->src)
    if (source) {
      what.x.push_back(operandOf(source));
      what.name += std::string("_") + ggml_type_name(source->type);
    }
  what.i = own.i;
  what.f = own.f;
  run.threads(ggml_nelements(op), what, [=](const Traced &p, const fx::UInt32 &index) {
    const Place at = placeOf(index, p.x[0].extent);
    storeAt(p.x[0], type, at, cell(p, at));
  });
}
/// Parameters of the op from `first` on.
inline std::vector<std::int32_t> ints(const ggml_tensor *op, int first, int count) {
  std::vector<std::int32_t> all;
  for (int i = first; i < first + count; ++i)
    all.push_back(intParam(op, i));
  return all;
}

} // namespace flydsl_ggml
