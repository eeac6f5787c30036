/* The kernel library for programs that are not C++: plans behind opaque pointers, with arguments by name.
 *
 *   flydsl_plan *norm;
 *   if (flydsl_plan_create("norm x=bf16 y=bf16 weight=bf16 n=4096", 64, NULL, &norm) != FLYDSL_OK)
 *     return fail(flydsl_last_error());
 *   const int64_t rows[] = {64, 4096}, row[] = {4096};
 *   const flydsl_argument arguments[] = {
 *     {.name = "x", .kind = FLYDSL_TENSOR, .data = x, .dtype = FLYDSL_BF16, .rank = 2, .shape = rows},
 *     {.name = "weight", .kind = FLYDSL_TENSOR, .data = w, .dtype = FLYDSL_BF16, .rank = 1, .shape = row},
 *     {.name = "y", .kind = FLYDSL_TENSOR, .data = y, .dtype = FLYDSL_BF16, .rank = 2, .shape = rows}};
 *   flydsl_plan_call(norm, arguments, 3, stream);
 *   flydsl_plan_destroy(norm);
 *
 * Families, the fields of their problems and configurations, and the names of their arguments are those of
 * flydsl/kernels/FAMILY.h; `fly-kernels list` prints the fields of families that need one device. No
 * exception leaves a function: each gives a status, and flydsl_last_error has the sentence. All functions
 * may be called by several threads at a time; a plan is immutable. Link libflydsl_kernels. */
#ifndef FLYDSL_KERNELS_H
#define FLYDSL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define FLYDSL_C_API
#else
#define FLYDSL_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these declarations. A library of a later version takes calls of an earlier one. */
#define FLYDSL_KERNELS_VERSION 1
/* The version that the library was built with. */
FLYDSL_C_API uint32_t flydsl_kernels_version(void);

typedef enum flydsl_status {
  FLYDSL_OK = 0,
  FLYDSL_INVALID = 1,       /* an argument of the call is refused */
  FLYDSL_UNSUPPORTED = 2,   /* the problem or the configuration, on this target */
  FLYDSL_COMPILE_ERROR = 3, /* a pass, LLVM or the linker failed */
  FLYDSL_DEVICE_ERROR = 4,  /* HIP, the emulator or the operating system refused */
  FLYDSL_INDEX_ERROR = 5,   /* a checked plan found a wrong number in device memory */
  FLYDSL_OUT_OF_MEMORY = 6, /* of the host */
  FLYDSL_INTERNAL = 7       /* anything else: report it */
} flydsl_status;

/* What the last call of this thread that did not give FLYDSL_OK has to say; "" before the first one. The
 * text lives until the thread's next call. */
FLYDSL_C_API const char *flydsl_last_error(void);

/* Types of elements. */
typedef enum flydsl_dtype {
  FLYDSL_F32 = 0,
  FLYDSL_F16 = 1,
  FLYDSL_BF16 = 2,
  FLYDSL_I8 = 3,
  FLYDSL_U8 = 4,
  FLYDSL_I32 = 5,
  FLYDSL_I64 = 6,
  FLYDSL_F8E4M3FN = 7,
  FLYDSL_F8E5M2 = 8,
  FLYDSL_F8E4M3FNUZ = 9,
  FLYDSL_F8E5M2FNUZ = 10,
  FLYDSL_F8E8M0FNU = 11,
  FLYDSL_F6E2M3FN = 12,
  FLYDSL_F6E3M2FN = 13,
  FLYDSL_F4E2M1FN = 14
} flydsl_dtype;

typedef enum flydsl_argument_kind {
  FLYDSL_TENSOR = 0,
  /* Weights that were prepared for the plan's problem, by the family `weight`, by prepare_weight, or as
   * ggml's blocks: the memory alone. To pass it declares that it holds that matrix in that layout. */
  FLYDSL_PREPARED = 1,
  FLYDSL_INTEGER = 2,
  FLYDSL_GROUP = 3 /* `data` is a flydsl_group */
} flydsl_argument_kind;

/* An argument of a call. */
typedef struct flydsl_argument {
  const char *name; /* the field of the family's Args */
  flydsl_argument_kind kind;
  void *data; /* device memory, of a tensor; the group */
  flydsl_dtype dtype;
  int32_t rank;           /* 1 to 8 */
  const int64_t *shape;   /* extents */
  const int64_t *strides; /* in elements; NULL: contiguous */
  int64_t integer;        /* of FLYDSL_INTEGER */
} flydsl_argument;

/* The code for a problem and a configuration. */
typedef struct flydsl_plan flydsl_plan;

/* How a plan is made. Set `size`, and everything else to 0 but what is asked for: later versions have more
 * fields. */
typedef struct flydsl_plan_options {
  size_t size;        /* sizeof(flydsl_plan_options) */
  const char *target; /* "gfx942"; NULL: the current device's */
  const char *config; /* fields that are not to be as chosen, "tile_m=64 stages=4"; NULL: none */
  const char *file;   /* the plan is loaded from this file, which ExportList wrote; NULL: it is compiled */
  int32_t check_indices, check_memory; /* PlanOptions: 0: as the environment says, 1: yes, -1: no */
} flydsl_plan_options;

/* Whether a target can solve a problem: FLYDSL_OK or FLYDSL_UNSUPPORTED, whose reason flydsl_last_error
 * has. `target` may be NULL: the current device's. */
FLYDSL_C_API flydsl_status flydsl_supported(const char *problem, const char *target);

/* Makes a plan for about `rows` rows, "FAMILY [FIELD=VALUE ...]". `options` may be NULL. `*plan` is NULL
 * after an error. */
FLYDSL_C_API flydsl_status flydsl_plan_create(const char *problem, int64_t rows,
                                              const flydsl_plan_options *options,
                                              flydsl_plan **plan);
/* NULL is nothing. Launches that are under way end by themselves. */
FLYDSL_C_API void flydsl_plan_destroy(flydsl_plan *plan);

/* Launches the plan on a hipStream_t. Arguments stand in any order; those that the problem does not have
 * are left out, and each that it has is there once. */
FLYDSL_C_API flydsl_status flydsl_plan_call(const flydsl_plan *plan,
                                            const flydsl_argument *arguments, size_t count,
                                            void *stream);
/* Waits for the stream's work: FLYDSL_INDEX_ERROR if a call of a checked plan was found wrong. */
FLYDSL_C_API flydsl_status flydsl_plan_check(const flydsl_plan *plan, void *stream);
/* The bytes of workspace of a call of up to `rows` rows. */
FLYDSL_C_API flydsl_status flydsl_plan_workspace_bytes(const flydsl_plan *plan, int64_t rows,
                                                       size_t *bytes);
/* The problem and the configuration, "FAMILY FIELD=VALUE ... | FIELD=VALUE ...", cut off after `size - 1`
 * characters; `*needed`, unless NULL, is the size that the whole text takes with its end. */
FLYDSL_C_API flydsl_status flydsl_plan_describe(const flydsl_plan *plan, char *text, size_t size,
                                                size_t *needed);

/* The configurations of a file that fly-kernels or TunedConfigs wrote (flydsl/kernels/tuning/tuned.h): plans
 * that are made from now on have them, where they fit, in place of those that were in use. NULL: none. */
FLYDSL_C_API flydsl_status flydsl_tuned_use(const char *file);

/* A rank's part in a group of 2, 4 or 8 devices, for the families that ranks compute together: collective,
 * collective_norm, expert_dispatch, expert_combine and moe_ranks. flydsl/host/group.h says what holds: all
 * ranks make the same calls in the same order, those of a rank in one stream. */
typedef struct flydsl_group flydsl_group;

/* How a group is made; all ranks have the same. 0: the defaults of fx::GroupOptions. */
typedef struct flydsl_group_options {
  size_t size;          /* sizeof(flydsl_group_options) */
  size_t capacity;      /* bytes of the largest operand of a call */
  int64_t milliseconds; /* how long a rank is waited for */
} flydsl_group_options;

/* A group of this process: a rank for each of `count` devices, in their order, into groups[0 .. count).
 * `options` may be NULL. After an error all of `groups` are NULL. */
FLYDSL_C_API flydsl_status flydsl_group_of(const int32_t *devices, int32_t count,
                                           const flydsl_group_options *options,
                                           flydsl_group **groups);
/* Rank `rank` of a group of `ranks` processes of a machine, on the current device. They find each other by
 * files whose names begin with `file`. */
FLYDSL_C_API flydsl_status flydsl_group_join(const char *file, int32_t rank, int32_t ranks,
                                             const flydsl_group_options *options,
                                             flydsl_group **group);
/* FLYDSL_DEVICE_ERROR if a kernel of the rank has waited in vain for another, and for the other reasons of
 * fx::Group::check. It waits for nothing. */
FLYDSL_C_API flydsl_status flydsl_group_check(const flydsl_group *group);
/* From now on the rank's calls go into this stream, after the work that the stream before has now. */
FLYDSL_C_API flydsl_status flydsl_group_move_to(flydsl_group *group, void *stream);
/* After all ranks have ended their calls. NULL is nothing. */
FLYDSL_C_API void flydsl_group_destroy(flydsl_group *group);

#ifdef __cplusplus
}
#endif

#endif /* FLYDSL_KERNELS_H */
