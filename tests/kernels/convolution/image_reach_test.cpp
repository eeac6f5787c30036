// How far tiles of convolutions reach in large images, by a model of the kernel on the host.
#include "conv/image_reach.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace fx = flydsl;
namespace fk = fx::kernels;

namespace {

using fk::ConvAxis;
using Image = std::array<std::int64_t, 3>; ///< (d, h, w)
constexpr ConvAxis three{.kernel = 3, .before = 1, .after = 1};

} // namespace

TEST_CASE("tiles of far images lie within 1 GiB of their first element") {
  // The rule of WindowRows::firstOf, and each element that a tile's windows have inside of x.
  namespace impl = fk::impl;
  constexpr std::int64_t step = std::int64_t(96) << 20; // elements of bf16
  int far = 0, near = 0, refused = 0;
  for (const Image &in : {Image{1, 1, 70}, Image{1, 9, 20}, Image{1, 12, 7}, Image{7, 5, 6},
                          Image{9, 1, 18}, Image{6, 3, 1}})
    for (const std::int64_t images : {1, 2, 3})
      for (const ConvAxis &axis :
           {ConvAxis{}, three, ConvAxis{.kernel = 2, .stride = 3, .after = 2}})
        for (const int tileM : {16, 32}) {
          const impl::ImageWork work{3, {axis, axis, axis}, false};
          impl::ImageSizes sizes{images, in, {}};
          for (std::size_t i = 0; i < 3; ++i)
            sizes.y[i] = axis.outputs(in[i]);
          const Image &out = sizes.y;
          if (out[0] * out[1] * out[2] == 0)
            continue;
          // The outermost dimension with several elements is far apart.
          const std::size_t outer = in[0] > 1 ? 0 : in[1] > 1 ? 1 : 2;
          Image stride{in[1] * in[2] * 8, in[2] * 8, 8};
          stride[outer] = outer == 2 ? step / 16 : step;
          const std::int64_t ofImage = in[outer] * stride[outer];
          const fx::TensorArg x(
              nullptr, fx::bf16, std::vector<std::int64_t>{images, in[0], in[1], in[2], 8},
              std::vector<std::int64_t>{ofImage, stride[0], stride[1], stride[2], 1});
          if (!impl::isFar(work, sizes, out, tileM, x)) {
            ++(images * ofImage < (1 << 29) ? near : refused);
            continue;
          }
          ++far;
          const std::int64_t rows = out[0] * out[1] * out[2], m = images * rows;
          struct At {
            std::int64_t image;
            Image at;
          };
          const auto atRow = [&](std::int64_t row) {
            const std::int64_t own = row % rows;
            return At{row / rows, {own / (out[1] * out[2]), own / out[2] % out[1], own % out[2]}};
          };
          const auto start = [&](std::int64_t element) {
            return element * axis.stride - axis.before;
          };
          std::int64_t least = 0, most = 0;
          for (std::int64_t tile = 0; tile < m; tile += tileM) {
            const std::int64_t last = std::min(tile + tileM, m) - 1;
            const At a = atRow(tile), z = atRow(last);
            const bool within = a.image == z.image;
            const bool inPlane = within ? a.at[0] == z.at[0] : a.at[0] == out[0] - 1;
            const bool inLine = inPlane && (within ? a.at[1] == z.at[1] : a.at[1] == out[1] - 1);
            const auto first = [&](std::size_t i, bool given) {
              return given ? std::clamp<std::int64_t>(start(a.at[i]), 0, in[i] - 1) : 0;
            };
            const std::int64_t base = a.image * ofImage + first(0, true) * stride[0] +
                                      first(1, inPlane) * stride[1] + first(2, inLine) * stride[2];
            for (std::int64_t row = tile; row <= last; ++row) {
              const At at = atRow(row);
              for (int r = 0; r < axis.kernel; ++r)
                for (int s = 0; s < axis.kernel; ++s)
                  for (int t = 0; t < axis.kernel; ++t) {
                    const Image element{start(at.at[0]) + r, start(at.at[1]) + s,
                                        start(at.at[2]) + t};
                    bool inside = true;
                    std::int64_t place = at.image * ofImage - base;
                    for (std::size_t i = 0; i < 3; ++i) {
                      inside &= element[i] >= 0 && element[i] < in[i];
                      place += element[i] * stride[i];
                    }
                    if (!inside)
                      continue;
                    least = std::min(least, place);
                    most = std::max(most, place + 8);
                  }
            }
          }
          INFO(in[0] << "x" << in[1] << "x" << in[2] << " " << images << " " << axis.kernel << " "
                     << tileM);
          CHECK(least == 0);
          CHECK(most * 2 < (1 << 30));
        }
  CHECK(far > 10);
  CHECK(refused > 0);
  (void)near;
}
