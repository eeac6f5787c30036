/* One kernel per function of functions.h: out[i] = f(a[i], b[i]). */
#include "device.h"

#define DEFINE(type, name)                                                                          \
  KERNEL k_##name(GLOBAL const type *a, GLOBAL const type *b, GLOBAL type *out, int count) {        \
    int i = global_id();                                                                            \
    if (i < count)                                                                                  \
      out[i] = name(a[i], b[i]);                                                                    \
  }
#define DEFINE_INTEGER(name) DEFINE(u64, name)
#define DEFINE_FLOAT(name) DEFINE(float, name)
#define DEFINE_DOUBLE(name) DEFINE(double, name)
FOREIGN_INTEGER(DEFINE_INTEGER)
FOREIGN_FLOAT(DEFINE_FLOAT)
FOREIGN_DOUBLE(DEFINE_DOUBLE)
