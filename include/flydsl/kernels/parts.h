// Parts that make up a kernel of products, for kernels of one's own. The guide is
// docs/kernels/write-your-own-gemm.md.
#pragma once

#include <flydsl/kernels/parts/epilogue.h>
#include <flydsl/kernels/parts/gemm_spec.h>
#include <flydsl/kernels/parts/mainloop.h>
