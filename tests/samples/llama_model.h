// A model of two layers with random weights, as a GGUF file, for tests.
#pragma once

#include <flydsl/kernels/ggml.h>

#include <string>

namespace llama {

/// Writes it with all matrices in a format. Equal formats give equal files. Throws FileError.
void makeModel(const std::string &path, flydsl::kernels::GgmlFormat format);

} // namespace llama
