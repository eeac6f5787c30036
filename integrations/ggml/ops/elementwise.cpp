#include "ops/elementwise.h"

#include <algorithm>
#include <numeric>

namespace flydsl_ggml {
namespace {

/// How a source relates to the result.
struct Form {
  ggml_type type;
  bool scalar;   ///< one element stands for all of dimension 0
  bool repeated; ///< coordinates are taken modulo its extents
};

/// Makes one dimension of those that follow one another without gaps in all operands, which have one
/// shape. Returns how many dimensions are left.
int collapse(std::vector<HostOperand> &all) {
  const auto extent = [&](std::size_t d) { return all[0].extent[d]; };
  std::size_t rank = 4;
  for (std::size_t d = 0; d + 1 < rank;) {
    const bool joins = std::ranges::all_of(all, [&](const HostOperand &x) {
      return x.stride[d + 1] == x.stride[d] * extent(d);
    });
    const bool fits = std::int64_t{extent(d)} * extent(d + 1) < (std::int64_t{1} << 31);
    if (extent(d + 1) != 1 && !(joins && fits)) {
      ++d;
      continue;
    }
    --rank;
    for (HostOperand &x : all) {
      x.extent[d] *= x.extent[d + 1];
      for (std::size_t e = d + 1; e < rank; ++e) {
        x.extent[e] = x.extent[e + 1];
        x.stride[e] = x.stride[e + 1];
      }
      x.extent[rank] = 1;
    }
  }
  return static_cast<int>(rank);
}

} // namespace

void elementwise(const Run &run, const std::string &name, const Element &result,
                 std::span<const Element> sources, const Formula &formula,
                 std::vector<float> numbers) {
  std::vector<HostOperand> all{result.memory};
  std::vector<Form> forms;
  bool collapses = true;
  for (const Element &source : sources) {
    HostOperand x = source.memory;
    Form form{source.type, false, false};
    for (std::size_t d = 0; d < 4; ++d) {
      if (x.extent[d] == result.memory.extent[d])
        continue;
      if (x.extent[d] == 1) { // one element for all: a stride of 0
        x.stride[d] = 0;
        x.extent[d] = result.memory.extent[d];
      } else {
        form.repeated = true;
      }
    }
    collapses &= !form.repeated;
    all.push_back(x);
    forms.push_back(form);
  }
  const int rank = collapses ? collapse(all) : 4;

  // As many neighbours as 16 bytes of the widest operand hold, where all operands allow it.
  int width = 8;
  const auto limit = [&](const HostOperand &x, ggml_type type) {
    if (x.extent[0] != all[0].extent[0]) { // repeated inside of a row
      width = 1;
      return;
    }
    width = std::min<int>(width, 16 / dtypeOf(type).bytes());
    width = widthOf(x, type, width);
  };
  limit(all[0], result.type);
  for (std::size_t s = 0; s < forms.size(); ++s) {
    forms[s].scalar = all[s + 1].stride[0] == 0 && all[0].extent[0] > 1;
    if (!forms[s].scalar)
      limit(all[s + 1], forms[s].type);
  }

  std::string full = name + "_" + ggml_type_name(result.type);
  for (const Form &form : forms)
    full += std::string("_") + ggml_type_name(form.type) + (form.scalar ? "s" : "") +
            (form.repeated ? "r" : "");
  full += "_v" + std::to_string(width) + "_d" + std::to_string(rank);

  const std::int64_t total = std::accumulate(all[0].extent.begin(), all[0].extent.end(),
                                             std::int64_t{1}, std::multiplies<>()) /
                             width;
  if (!total)
    return;
  const ggml_type to = result.type;
  run.threads(
      total, {.name = full, .x = all, .f = std::move(numbers)},
      [=](const Traced &p, const fx::UInt32 &index) {
        const TracedOperand &y = p.x[0];
        const std::array<fx::Int32, 4> &extent = y.extent;
        const Place units = rank == 1 ? Place{index.to(fx::i32), 0, 0, 0}
                             : placeOf(index, {fx::Int32(width == 1 ? fx::Numeric(extent[0])
                                                                    : extent[0] / width),
                                               extent[1], extent[2], extent[3]});
        const Place at = width > 1 ? Place{units[0] * width, units[1], units[2], units[3]}
                                   : units;

        const auto addressIn = [&](const TracedOperand &x, bool modulo) {
          const Place place = modulo ? repeated(at, x) : at;
          return rank == 1 ? fx::Int64(x.address + place[0].to(fx::i64) * x.stride[0])
                           : elementAddress(x, place);
        };
        std::vector<fx::Vector> vectors;
        std::vector<fx::Numeric> scalars;
        for (std::size_t s = 0; s < forms.size(); ++s) {
          const fx::DType type = dtypeOf(forms[s].type);
          const fx::Int64 address = addressIn(p.x[s + 1], forms[s].repeated);
          const int alignment = width * type.bytes();
          if (width > 1 && !forms[s].scalar)
            vectors.push_back(fx::Pointer::from_address(address, type, fx::AddressSpace::global,
                                                        alignment)
                                  .load(width));
          else
            vectors.push_back(fx::Vector::splat(loadAs(address, type), width));
        }
        const fx::DType toType = dtypeOf(to);
        const fx::Pointer out = fx::Pointer::from_address(
            addressIn(y, false), toType, fx::AddressSpace::global, width * toType.bytes());
        const auto one = [&](std::int64_t v) -> fx::Numeric {
          if (!formula) {
            const fx::Numeric value = vectors[0].at(v);
            return value.dtype() == toType ? value : value.to(toType);
          }
          std::vector<fx::Numeric> in;
          for (const fx::Vector &vector : vectors)
            in.push_back(vector.dtype() == fx::f32 ? vector.at(v) : vector.at(v).to(fx::f32));
          const fx::Numeric value = formula(in, p.f);
          return toType == fx::f32 ? value : value.to(toType);
        };
        switch (width) {
        case 1:
          return out.store(one(0));
        case 2:
          return out.store(fx::Vector::of({one(0), one(1)}));
        case 4:
          return out.store(fx::Vector::of({one(0), one(1), one(2), one(3)}));
        default:
          return out.store(
              fx::Vector::of({one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7)}));
        }
      });
}

} // namespace flydsl_ggml
