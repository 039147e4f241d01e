/* The statistics of a tensor in one pass over memory; statistics.py says what the fields mean.
 *
 * Elements are taken in blocks that stay in the L1 cache, and within a block in LANES interleaved
 * streams with accumulators of their own: sums that the compiler may vectorise without being
 * allowed to reorder floating-point arithmetic, which would cost us nan and inf.
 *
 * The fast loop does not look for non-finite elements. It adds |x| into a double, so that sum is
 * finite if and only if the block is (a block of float64 may also overflow; the careful loop is
 * right for it too). Only then is the block counted; if not, the careful loop reads it again.
 */
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

#include "_crc32c.h"
#include "_digest.h"
#include "_dlpack.h"
#include "_exponents.h"
#include "_files.h"
#include "_matcher.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__GLIBC__)
/* One build runs on every x86-64 and still uses what the processor has. */
#define CLONED __attribute__((target_clones("avx512f", "avx2", "default")))
#include <immintrin.h>
#define HAVE_F16C_CLONE 1
#else
#define CLONED
#define HAVE_F16C_CLONE 0
#endif

#ifdef _MSC_VER
#define THREAD_LOCAL __declspec(thread)
#else
#define THREAD_LOCAL _Thread_local
#endif

enum { LANES = 16, BLOCK = 2048 };                            /* BLOCK is a multiple of LANES */
enum { GIL_COUNT = 64 * 1024 };                               /* above it, others may run */
enum { KIND_FLOAT32, KIND_FLOAT64, KIND_BFLOAT16, KIND_FLOAT16, NUM_KINDS };
enum { KIND_INT64 = NUM_KINDS };                              /* of tensors only */
enum { NUM_FIELDS = 11 };

typedef struct {
    double nan, posinf, neginf, zeros, min, max, sum, sum_abs, sum_sq, abs_min;
} Totals;

static const Totals NOTHING = {
    .min = INFINITY, .max = -INFINITY, .abs_min = INFINITY,
};

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

static void add_one(double value, Totals *totals)
{
    if (!isfinite(value)) {
        totals->nan += value != value;
        totals->posinf += value > 0;
        totals->neginf += value < 0;
        return;
    }
    double magnitude = fabs(value);
    totals->zeros += value == 0;
    totals->min = least(value, totals->min);
    totals->max = most(value, totals->max);
    totals->sum += value;
    totals->sum_abs += magnitude;
    totals->sum_sq += value * value;
    totals->abs_min = least(magnitude, totals->abs_min);
}

/* The loops for one element type.
 * ADD_FINITE is the fast one: count is a multiple of LANES and at most BLOCK; it returns 0, and
 * leaves the totals alone, if it must not count the block. Its comparisons are written so that
 * each is one instruction: "a < b ? a : b" is minps. The counters are as wide as the elements,
 * to share the lanes of the comparison. */
#define DEFINE_LOOPS(REAL, INT, FABS, ADD_FINITE, ADD_ANY, ADD)                                   \
    CLONED static int ADD_FINITE(const REAL *x, size_t count, Totals *totals)                     \
    {                                                                                             \
        double sum[LANES] = {0}, sum_abs[LANES] = {0}, sum_sq[LANES] = {0};                       \
        REAL min[LANES], max[LANES], abs_min[LANES];                                              \
        INT zeros[LANES] = {0};                                                                   \
        double block_abs = 0;                                                                     \
        for (int j = 0; j < LANES; j++) {                                                         \
            min[j] = abs_min[j] = (REAL)INFINITY;                                                 \
            max[j] = (REAL)-INFINITY;                                                             \
        }                                                                                         \
        for (size_t i = 0; i < count; i += LANES) {                                               \
            for (int j = 0; j < LANES; j++) {                                                     \
                REAL value = x[i + j], magnitude = FABS(value);                                   \
                double wide = value;                                                              \
                sum[j] += wide;                                                                   \
                sum_abs[j] += fabs(wide);                                                         \
                sum_sq[j] += wide * wide;                                                         \
                min[j] = value < min[j] ? value : min[j];                                         \
                max[j] = value > max[j] ? value : max[j];                                         \
                abs_min[j] = magnitude < abs_min[j] ? magnitude : abs_min[j];                     \
                zeros[j] += value == 0;                                                           \
            }                                                                                     \
        }                                                                                         \
        for (int j = 0; j < LANES; j++)                                                           \
            block_abs += sum_abs[j];                                                              \
        if (!isfinite(block_abs))                                                                 \
            return 0;                                                                             \
        totals->sum_abs += block_abs;                                                             \
        for (int j = 0; j < LANES; j++) {                                                         \
            totals->sum += sum[j];                                                                \
            totals->sum_sq += sum_sq[j];                                                          \
            totals->zeros += (double)zeros[j];                                                    \
            totals->min = least(min[j], totals->min);                                             \
            totals->max = most(max[j], totals->max);                                              \
            totals->abs_min = least(abs_min[j], totals->abs_min);                                 \
        }                                                                                         \
        return 1;                                                                                 \
    }                                                                                             \
                                                                                                  \
    static void ADD_ANY(const REAL *x, size_t count, Totals *totals)                              \
    {                                                                                             \
        Totals local = *totals; /* a copy can live in registers */                                \
        for (size_t i = 0; i < count; i++)                                                        \
            add_one((double)x[i], &local);                                                        \
        *totals = local;                                                                          \
    }                                                                                             \
                                                                                                  \
    static void ADD(const REAL *x, size_t count, Totals *totals)                                  \
    {                                                                                             \
        size_t whole = count - count % LANES;                                                     \
        if (whole && !ADD_FINITE(x, whole, totals))                                               \
            whole = 0;                                                                            \
        ADD_ANY(x + whole, count - whole, totals);                                                \
    }

DEFINE_LOOPS(float, int32_t, fabsf, add_finite_floats, add_any_floats, add_floats)
DEFINE_LOOPS(double, int64_t, fabs, add_finite_doubles, add_any_doubles, add_doubles)

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

CLONED static void widen_bfloat16(const uint16_t *x, size_t count, float *wide)
{
    for (size_t i = 0; i < count; i++)
        wide[i] = float_of_bits((uint32_t)x[i] << 16);
}

/* Without branches: the exponent moves from bias 15 to bias 127; that of inf and nan goes all the
 * way to 255; a subnormal is made a normal with one bit too many, which is subtracted again (no
 * multiplication of a subnormal float32, which costs an assist on some processors). */
CLONED static void widen_float16_anywhere(const uint16_t *x, size_t count, float *wide)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = (uint32_t)(x[i] & 0x7fff) << 13;
        uint32_t subnormal = magnitude < 0x00800000u, special = magnitude >= 0x0f800000u;
        uint32_t bits = magnitude + ((112u + subnormal + 112u * special) << 23);
        float value = float_of_bits(bits) - (subnormal ? 0x1p-14f : 0.0f);
        memcpy(&bits, &value, sizeof bits);
        wide[i] = float_of_bits(bits | (uint32_t)(x[i] & 0x8000) << 16);
    }
}

#if HAVE_F16C_CLONE
__attribute__((target("avx2,f16c")))
static void widen_float16_f16c(const uint16_t *x, size_t count, float *wide)
{
    size_t whole = count - count % 8;
    for (size_t i = 0; i < whole; i += 8) {
        __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        _mm256_storeu_ps(wide + i, _mm256_cvtph_ps(halves));
    }
    for (size_t i = whole; i < count; i++)
        wide[i] = _cvtsh_ss(x[i]);
}
#endif

static void widen_float16(const uint16_t *x, size_t count, float *wide)
{
#if HAVE_F16C_CLONE
    if (__builtin_cpu_supports("avx2")) { /* every processor with AVX2 has F16C */
        widen_float16_f16c(x, count, wide);
        return;
    }
#endif
    widen_float16_anywhere(x, count, wide);
}

static void add_whole_numbers(const int64_t *numbers, size_t count, Totals *totals)
{
    double wide[BLOCK];
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)numbers[i];
    add_doubles(wide, count, totals);
}

static void add_block(const char *data, size_t count, int kind, Totals *totals)
{
    float wide[BLOCK];
    switch (kind) {
    case KIND_FLOAT32:
        add_floats((const float *)(const void *)data, count, totals);
        return;
    case KIND_FLOAT64:
        add_doubles((const double *)(const void *)data, count, totals);
        return;
    case KIND_INT64:
        add_whole_numbers((const int64_t *)(const void *)data, count, totals);
        return;
    case KIND_BFLOAT16:
        widen_bfloat16((const uint16_t *)(const void *)data, count, wide);
        break;
    default:
        widen_float16((const uint16_t *)(const void *)data, count, wide);
    }
    add_floats(wide, count, totals);
}

/* The threads with which a framework computes, through the OpenMP library that it brought: they are
 * awake right after it computed, and nobody else needs them while the training thread is ours. */
static struct {
    void (*run)(void (*work)(void *), void *shared, unsigned count, unsigned flags);
    int (*number_of_this)(void);
    int (*count)(void);
    int (*are_running)(void);
    long process; /* a forked child has none of them */
} threads;
static THREAD_LOCAL int threads_are_ours; /* each thread that asks gets a team of its own */

static int threads_may_help(void)
{
    return threads_are_ours && threads.run && threads.process == (long)getpid()
           && !threads.are_running();
}

static const size_t ITEMSIZE[NUM_KINDS + 1] = {4, 8, 2, 2, 8};

/* A large array is read in pieces, each with totals of its own that are added up in order. How it
 * is cut depends on nothing but its size, so the sums are the same however many threads read. */
enum { MAX_PIECES = 256, PIECE = 16 * BLOCK };

typedef struct {
    const char *data;
    size_t count, size; /* in elements; of all, and of a piece */
    int kind;
    Totals totals[MAX_PIECES];
} Pieces;

static void read_piece(Pieces *pieces, size_t index)
{
    Totals *totals = &pieces->totals[index];
    size_t first = index * pieces->size, end = first + pieces->size;
    *totals = NOTHING;
    for (end = end < pieces->count ? end : pieces->count; first < end; first += BLOCK) {
        size_t rest = end - first;
        add_block(pieces->data + first * ITEMSIZE[pieces->kind], rest < BLOCK ? rest : BLOCK,
                  pieces->kind, totals);
    }
}

static size_t num_pieces(const Pieces *pieces)
{
    return (pieces->count + pieces->size - 1) / pieces->size;
}

static void read_share(void *shared)
{
    Pieces *pieces = shared;
    size_t number = num_pieces(pieces);
    size_t share = (size_t)threads.number_of_this(), shares = (size_t)threads.count();
    for (size_t i = number * share / shares; i < number * (share + 1) / shares; i++)
        read_piece(pieces, i);
}

static void add_totals(const Totals *part, Totals *totals)
{
    totals->nan += part->nan;
    totals->posinf += part->posinf;
    totals->neginf += part->neginf;
    totals->zeros += part->zeros;
    totals->min = least(part->min, totals->min);
    totals->max = most(part->max, totals->max);
    totals->sum += part->sum;
    totals->sum_abs += part->sum_abs;
    totals->sum_sq += part->sum_sq;
    totals->abs_min = least(part->abs_min, totals->abs_min);
}

static void summarize(const char *data, size_t count, int kind, double *row)
{
    Totals totals = NOTHING;
    size_t least_size = (count + MAX_PIECES - 1) / MAX_PIECES;
    Pieces pieces; /* its totals are set where they are read: there are many of them */
    pieces.data = data;
    pieces.count = count;
    pieces.size = PIECE;
    pieces.kind = kind;
    if (least_size > PIECE)
        pieces.size = (least_size + BLOCK - 1) / BLOCK * BLOCK;
    size_t number = num_pieces(&pieces);
    if (number > 1 && threads_may_help())
        threads.run(read_share, &pieces, 0, 0);
    else
        for (size_t i = 0; i < number; i++)
            read_piece(&pieces, i);
    for (size_t i = 0; i < number; i++)
        add_totals(&pieces.totals[i], &totals);
    int any_finite = totals.min <= totals.max;
    row[0] = (double)count;
    row[1] = totals.nan;
    row[2] = totals.posinf;
    row[3] = totals.neginf;
    row[4] = totals.zeros;
    row[5] = any_finite ? totals.min + 0.0 : NAN; /* + 0.0: no minus zero */
    row[6] = any_finite ? totals.max + 0.0 : NAN;
    row[7] = totals.sum;
    row[8] = totals.sum_abs;
    row[9] = totals.sum_sq;
    row[10] = any_finite ? totals.abs_min : NAN;
}

/* What an array says of its memory: NumPy's array interface, C side. */
typedef struct {
    int two;
    int nd;
    char typekind;
    int itemsize;
    int flags;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    void *data;
    PyObject *descr;
} ArrayStruct;

enum { C_CONTIGUOUS = 0x1, F_CONTIGUOUS = 0x2, ALIGNED = 0x100, NATIVE = 0x200, WRITEABLE = 0x400 };

static const ArrayStruct *array_struct(PyObject *capsule)
{
    const ArrayStruct *array = PyCapsule_GetPointer(capsule, NULL);
    if (array && array->two != 2) {
        PyErr_SetString(PyExc_ValueError, "not the __array_struct__ of an array");
        return NULL;
    }
    return array;
}

static int is_readable(const ArrayStruct *array, int kind)
{
    int as_it_is = (array->flags & ALIGNED) && (array->flags & NATIVE);
    int is_dense = array->flags & (C_CONTIGUOUS | F_CONTIGUOUS);
    return as_it_is && is_dense && (size_t)array->itemsize == ITEMSIZE[kind];
}

static int is_row(const ArrayStruct *array, char typekind, Py_ssize_t length)
{
    int needed = C_CONTIGUOUS | ALIGNED | NATIVE | WRITEABLE;
    return (array->flags & needed) == needed && array->typekind == typekind
           && array->itemsize == 8 && array->nd == 1 && array->shape[0] == length;
}

static size_t count_elements(const ArrayStruct *array)
{
    size_t count = 1;
    for (int axis = 0; axis < array->nd; axis++)
        count *= (size_t)array->shape[axis];
    return count;
}

/* Take the arguments of summarize or count_exponents; 0, and an exception, if they are wrong. */
static int parse_reading(PyObject *const *args, Py_ssize_t num_args, char typekind, int length,
                         const ArrayStruct **source, const ArrayStruct **target, long *kind)
{
    if (num_args != 3) {
        PyErr_Format(PyExc_TypeError, "need 3 arguments, got %zd", num_args);
        return 0;
    }
    *source = array_struct(args[0]);
    *kind = PyLong_AsLong(args[1]);
    if (!*source || (*kind == -1 && PyErr_Occurred()))
        return 0;
    *target = array_struct(args[2]);
    if (!*target)
        return 0;
    if (*kind < 0 || *kind >= NUM_KINDS || !is_row(*target, typekind, length)) {
        PyErr_Format(PyExc_ValueError, "need a kind below %d and a writable, contiguous %s row of "
                     "%d elements", NUM_KINDS, typekind == 'f' ? "float64" : "int64", length);
        return 0;
    }
    return 1;
}

static PyObject *py_summarize(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    const ArrayStruct *source, *target;
    long kind;
    if (!parse_reading(args, num_args, 'f', NUM_FIELDS, &source, &target, &kind))
        return NULL;
    if (!is_readable(source, (int)kind))
        Py_RETURN_FALSE;

    size_t count = count_elements(source);
    if (count > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        summarize(source->data, count, (int)kind, target->data);
        Py_END_ALLOW_THREADS
    } else {
        summarize(source->data, count, (int)kind, target->data);
    }
    Py_RETURN_TRUE;
}

enum { MOST_AXES = 16 };

/* Return 1 if the elements lie in memory without gaps, in whatever order of the axes. */
static int is_dense(const DLTensor *tensor, int in_order)
{
    int64_t sizes[MOST_AXES], strides[MOST_AXES], next = 1;
    int num_axes = 0;
    if (!tensor->strides)
        return 1;
    for (int axis = tensor->ndim - 1; axis >= 0; axis--) {
        int64_t size = tensor->shape[axis], stride = tensor->strides[axis];
        if (size == 0)
            return 1;
        if (size == 1)
            continue; /* its stride says nothing */
        if (num_axes == MOST_AXES)
            return 0;
        int at = num_axes++;
        for (; !in_order && at > 0 && strides[at - 1] > stride; at--) {
            sizes[at] = sizes[at - 1];
            strides[at] = strides[at - 1];
        }
        sizes[at] = size;
        strides[at] = stride;
    }
    for (int axis = 0; axis < num_axes; axis++) {
        if (strides[axis] != next)
            return 0;
        next *= sizes[axis];
    }
    return 1;
}

/* Return the kind of the elements, -1 if they are not read here. */
static int kind_of(DLDataType dtype)
{
    if (dtype.lanes != 1)
        return -1;
    if (dtype.code == DL_FLOAT)
        return dtype.bits == 32 ? KIND_FLOAT32 : dtype.bits == 64 ? KIND_FLOAT64
               : dtype.bits == 16 ? KIND_FLOAT16 : -1;
    if (dtype.code == DL_BFLOAT)
        return dtype.bits == 16 ? KIND_BFLOAT16 : -1;
    return dtype.code == DL_INT && dtype.bits == 64 ? KIND_INT64 : -1;
}

/* So many whole numbers statistics.py reads as one block of float64. */
enum { MOST_WHOLE_NUMBERS = PIECE };

static int is_known(const DLPackExchangeAPI *api)
{
    return api->header.version.major == 1 && api->dltensor_from_py_object_no_sync;
}

/* Return 1 if the statistics of a tensor were written, 0 if it cannot be read here as it lies. */
static int summarize_tensor(const DLPackExchangeAPI *api, PyObject *object, PyObject *is_neg,
                            double *row)
{
    DLTensor tensor;
    if (api->dltensor_from_py_object_no_sync(object, &tensor)) {
        PyErr_Clear(); /* it has no memory of its own: sparse, nested, or within a transform */
        return 0;
    }
    int kind = kind_of(tensor.dtype);
    if (kind < 0 || tensor.device.device_type != DL_CPU || !is_dense(&tensor, kind == KIND_INT64))
        return 0;
    size_t count = 1;
    for (int axis = 0; axis < tensor.ndim; axis++)
        count *= (size_t)tensor.shape[axis];
    const char *data = (const char *)tensor.data + tensor.byte_offset;
    if (count && (!tensor.data || (uintptr_t)data % ITEMSIZE[kind]))
        return 0;
    if (kind == KIND_INT64 && count > MOST_WHOLE_NUMBERS)
        return 0;
    PyObject *negated = PyObject_CallMethodObjArgs(object, is_neg, NULL);
    Py_XDECREF(negated);
    if (negated != Py_False) {
        PyErr_Clear();
        return 0;
    }
    if (count > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        summarize(data, count, kind, row);
        Py_END_ALLOW_THREADS
    } else {
        summarize(data, count, kind, row);
    }
    return 1;
}

int tensor_is_finite(PyObject *capsule, PyObject *tensor)
{
    double row[NUM_FIELDS];
    const DLPackExchangeAPI *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyObject *is_neg = PyUnicode_InternFromString("is_neg");
    int is_finite = api && is_neg && is_known(api) && summarize_tensor(api, tensor, is_neg, row)
        && !row[1] && !row[2] && !row[3]; /* after the count: nan, and both infinities */
    Py_XDECREF(is_neg);
    PyErr_Clear();
    return is_finite;
}

/* Return the rows of a matrix of statistics from one on; NULL, and an exception, if there is no
 * room for so many. */
static double *rows_of(PyObject *capsule, Py_ssize_t first, Py_ssize_t number)
{
    const ArrayStruct *matrix = array_struct(capsule);
    if (!matrix)
        return NULL;
    int needed = C_CONTIGUOUS | ALIGNED | NATIVE | WRITEABLE;
    if ((matrix->flags & needed) != needed || matrix->typekind != 'f' || matrix->itemsize != 8
        || matrix->nd != 2 || matrix->shape[1] != NUM_FIELDS || first < 0
        || number > matrix->shape[0] - first) {
        PyErr_Format(PyExc_ValueError, "need a writable, contiguous float64 matrix with rows of "
                     "%d elements, and room for %zd of them from %zd on", NUM_FIELDS, number, first);
        return NULL;
    }
    return (double *)matrix->data + first * NUM_FIELDS;
}

static PyObject *py_summarize_tensors(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    if (num_args != 5 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "need an interface, a tuple of classes, a tuple of "
                        "tensors, a matrix and a row");
        return NULL;
    }
    const DLPackExchangeAPI *api = PyCapsule_GetPointer(args[0], "dlpack_exchange_api");
    if (!api)
        return NULL;
    Py_ssize_t first = PyLong_AsSsize_t(args[4]), number = PyTuple_Size(args[2]), done = 0;
    if (first == -1 && PyErr_Occurred())
        return NULL;
    double *rows = rows_of(args[3], first, number);
    PyObject *is_neg = rows ? PyUnicode_InternFromString("is_neg") : NULL;
    if (!is_neg)
        return NULL;
    for (; is_known(api) && done < number; done++) {
        PyObject *tensor = PyTuple_GetItem(args[2], done);
        Py_ssize_t which = 0, num_classes = PyTuple_Size(args[1]);
        while (which < num_classes && (PyObject *)Py_TYPE(tensor) != PyTuple_GetItem(args[1], which))
            which++;
        if (which == num_classes
            || !summarize_tensor(api, tensor, is_neg, rows + done * NUM_FIELDS))
            break;
    }
    Py_DECREF(is_neg);
    return PyLong_FromSsize_t(done);
}

static PyObject *py_summarize_numbers(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    if (num_args != 3 || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "need a tuple of numbers, a matrix and a row");
        return NULL;
    }
    Py_ssize_t first = PyLong_AsSsize_t(args[2]), number = PyTuple_Size(args[0]);
    if (first == -1 && PyErr_Occurred())
        return NULL;
    double *rows = rows_of(args[1], first, number);
    if (!rows)
        return NULL;
    for (Py_ssize_t i = 0; i < number; i++) {
        double value = PyFloat_AsDouble(PyTuple_GetItem(args[0], i));
        if (value == -1 && PyErr_Occurred())
            return NULL;
        summarize((const char *)&value, 1, KIND_FLOAT64, rows + i * NUM_FIELDS);
    }
    Py_RETURN_NONE;
}

static PyObject *py_use_threads(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    size_t address[4] = {0};
    if (num_args != 0 && num_args != 4) {
        PyErr_Format(PyExc_TypeError, "use_threads takes no argument or 4, got %zd", num_args);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < num_args; i++)
        address[i] = PyLong_AsSize_t(args[i]);
    if (PyErr_Occurred())
        return NULL;
    if (num_args) {
        memcpy(&threads.run, &address[0], sizeof threads.run);
        memcpy(&threads.number_of_this, &address[1], sizeof threads.count);
        memcpy(&threads.count, &address[2], sizeof threads.count);
        memcpy(&threads.are_running, &address[3], sizeof threads.are_running);
        threads.process = (long)getpid();
    }
    threads_are_ours = num_args != 0;
    Py_RETURN_NONE;
}

static PyObject *py_count_exponents(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    const ArrayStruct *source, *target;
    long kind;
    if (!parse_reading(args, num_args, 'i', NUM_EXPONENTS, &source, &target, &kind))
        return NULL;
    if (!is_readable(source, (int)kind))
        Py_RETURN_FALSE;

    size_t count = count_elements(source);
    if (count > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        count_exponents(source->data, count, (int)kind, target->data);
        Py_END_ALLOW_THREADS
    } else {
        count_exponents(source->data, count, (int)kind, target->data);
    }
    Py_RETURN_TRUE;
}

/* Return 1 if the elements are unsigned integers of a width that has a digest, in C order. */
static int are_words(const ArrayStruct *array)
{
    int needed = C_CONTIGUOUS | ALIGNED | NATIVE, width = array->itemsize;
    return (array->flags & needed) == needed
        && (width == 1 || width == 2 || width == 4 || width == 8);
}

static PyObject *py_digest(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    if (num_args != 2) {
        PyErr_Format(PyExc_TypeError, "digest takes 2 arguments, got %zd", num_args);
        return NULL;
    }
    const ArrayStruct *source = array_struct(args[0]);
    if (!source)
        return NULL;
    uint64_t start = PyLong_AsUnsignedLongLong(args[1]), result;
    if (start == (uint64_t)-1 && PyErr_Occurred())
        return NULL;
    if (!are_words(source))
        Py_RETURN_NONE;

    size_t count = count_elements(source);
    int width = source->itemsize;
    if (count > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        result = digest(source->data, count, width, start);
        Py_END_ALLOW_THREADS
    } else {
        result = digest(source->data, count, width, start);
    }
    return PyLong_FromUnsignedLongLong(result);
}

/* Put the digest of each row of `count` words of `width` bytes into `digests`. */
static void digest_rows(const char *rows, Py_ssize_t num_rows, size_t count, int width,
                        uint64_t *digests)
{
    for (Py_ssize_t row = 0; row < num_rows; row++)
        digests[row] = digest(rows + row * count * width, count, width, 0);
}

static PyObject *py_digest_rows(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    if (num_args != 2) {
        PyErr_Format(PyExc_TypeError, "digest_rows takes 2 arguments, got %zd", num_args);
        return NULL;
    }
    const ArrayStruct *source = array_struct(args[0]);
    const ArrayStruct *target = source ? array_struct(args[1]) : NULL;
    if (!target)
        return NULL;
    Py_ssize_t num_rows = source->nd > 0 ? source->shape[0] : 0;
    if (source->nd < 1 || !is_row(target, 'u', num_rows)) {
        PyErr_SetString(PyExc_ValueError, "need an array with rows, and a writable, contiguous"
                        " uint64 row of as many elements");
        return NULL;
    }
    if (!are_words(source))
        Py_RETURN_FALSE;

    size_t count = num_rows ? count_elements(source) / (size_t)num_rows : 0;
    if ((size_t)num_rows * count > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        digest_rows(source->data, num_rows, count, source->itemsize, target->data);
        Py_END_ALLOW_THREADS
    } else {
        digest_rows(source->data, num_rows, count, source->itemsize, target->data);
    }
    Py_RETURN_TRUE;
}

static PyObject *py_crc32c(PyObject *module, PyObject *const *args, Py_ssize_t num_args)
{
    (void)module;
    if (num_args < 1 || num_args > 3) {
        PyErr_Format(PyExc_TypeError, "crc32c takes 1 to 3 arguments, got %zd", num_args);
        return NULL;
    }
    unsigned long start = num_args > 1 ? PyLong_AsUnsignedLong(args[1]) : 0;
    int portable = num_args > 2 ? PyObject_IsTrue(args[2]) : 0;
    if (PyErr_Occurred())
        return NULL;
    char *data;
    Py_ssize_t size;
    PyObject *bytes = NULL;
    if (PyCapsule_CheckExact(args[0])) {
        const ArrayStruct *array = array_struct(args[0]);
        if (!array)
            return NULL;
        if (!(array->flags & C_CONTIGUOUS)) {
            PyErr_SetString(PyExc_ValueError, "the array is not contiguous");
            return NULL;
        }
        data = array->data;
        size = (Py_ssize_t)count_elements(array) * array->itemsize;
    } else {
        /* bytes as they are and others copied: they cannot change while the GIL is released. */
        bytes = PyBytes_FromObject(args[0]);
        if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
            return NULL;
    }
    uint32_t crc;
    if (size > GIL_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        crc = crc32c((uint32_t)start, data, (size_t)size, portable);
        Py_END_ALLOW_THREADS
    } else {
        crc = crc32c((uint32_t)start, data, (size_t)size, portable);
    }
    Py_XDECREF(bytes);
    return PyLong_FromUnsignedLong(crc);
}

static PyMethodDef METHODS[] = {
    {"crc32c", (PyCFunction)(void (*)(void))py_crc32c, METH_FASTCALL,
     "crc32c(data, start=0, portable=False): return the CRC-32C (Castagnoli) of some bytes."},
    {"digest", (PyCFunction)(void (*)(void))py_digest, METH_FASTCALL,
     "digest(source, start): return the digest of an array, None where it cannot be read.\n\n"
     "source is its __array_struct__; its first element is element start of the tensor."},
    {"digest_rows", (PyCFunction)(void (*)(void))py_digest_rows, METH_FASTCALL,
     "digest_rows(source, target): fill a row of uint64 with the digest of each source[i].\n\n"
     "Both are their __array_struct__. False, and nothing done, where source cannot be read."},
    {"count_exponents", (PyCFunction)(void (*)(void))py_count_exponents, METH_FASTCALL,
     "count_exponents(source, kind, target): fill a row with a histogram of exponents.\n\n"
     "As summarize does, with a row of int64."},
    {"use_threads", (PyCFunction)(void (*)(void))py_use_threads, METH_FASTCALL,
     "use_threads([run, number, count, running]): let threads help this one, or no longer.\n\n"
     "Each is the address of a function of an OpenMP library: GOMP_parallel,\n"
     "omp_get_thread_num, omp_get_num_threads and omp_in_parallel."},
    {"summarize", (PyCFunction)(void (*)(void))py_summarize, METH_FASTCALL,
     "summarize(source, kind, target): fill a row with the statistics of an array.\n\n"
     "source and target are the __array_struct__ of the array and of the row. False, and\n"
     "nothing done, where the array cannot be read as it lies in memory."},
    {"summarize_numbers", (PyCFunction)(void (*)(void))py_summarize_numbers, METH_FASTCALL,
     "summarize_numbers(numbers, target, first): fill rows with the statistics of one number each."},
    {"summarize_tensors", (PyCFunction)(void (*)(void))py_summarize_tensors, METH_FASTCALL,
     "summarize_tensors(api, classes, tensors, target, first): fill rows; return how many.\n\n"
     "api is the DLPack exchange interface of the classes, target the __array_struct__ of a\n"
     "matrix. It stops at the first tensor that is none of these classes, or cannot be read\n"
     "as it lies in memory."},
#if HAVE_WRITE_FILES
    {"write_files", py_write_files, METH_VARARGS,
     "write_files(files, mode): write (aside, path, data) in order, for who mode says, less the "
     "umask; return how many, and an errno."},
#endif
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    crc32c_prepare();
    return add_matcher_types(module);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_kernel",
    .m_doc = "The statistics of a tensor in one pass over memory, and more that is read in one.",
    .m_size = 0,
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&MODULE); }
