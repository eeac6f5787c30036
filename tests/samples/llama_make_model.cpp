// llama_make_model FILE FORMAT [KV_HEADS]: writes a small random model, with all matrices in one of
// ggml's formats, such as Q4_1, and 1, 2 or 4 heads of keys.
#include "llama_model.h"

#include <cstdio>
#include <exception>

namespace fk = flydsl::kernels;

int main(int argc, char **argv) {
  try {
    const std::string kvHeads = argc == 4 ? argv[3] : "2";
    const bool isRight = (argc == 3 || argc == 4) && (kvHeads == "1" || kvHeads == "2" || kvHeads == "4");
    for (std::uint32_t type = 0; isRight && type < 64; ++type)
      if (const auto format = fk::ggml_format(type);
          format && fk::ggml_block(*format).name == argv[2]) {
        llama::makeModel(argv[1], *format, std::stoi(kvHeads));
        return 0;
      }
    std::fprintf(stderr, "usage: llama_make_model FILE FORMAT [1, 2 or 4 heads of keys], the format one of F32, F16, BF16, Q8_0, Q4_0, "
                         "Q4_1, Q4_K, Q6_K\n");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "llama_make_model: %s\n", error.what());
  }
  return 2;
}
