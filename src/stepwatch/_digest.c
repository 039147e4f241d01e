/* The digest of a tensor; digest.py says what it is.
 *
 * A sum of integers may be taken in any order, so the compiler vectorises the plain loop. AVX-512
 * has an instruction for a 64-bit product; with AVX2 it is put together from products of halves.
 */
#include "_digest.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { BLOCK = 2048 };
static const uint64_t GAMMA = 0x9E3779B97F4A7C15u;

INLINE uint64_t mix(uint64_t word)
{
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

#define DEFINE_SUM(WORD, SUM)                                                                     \
    INLINE uint64_t SUM(const WORD *bits, size_t count, uint64_t start)                           \
    {                                                                                             \
        uint64_t sum = 0;                                                                         \
        for (size_t i = 0; i < count; i++)                                                        \
            sum += mix(bits[i] + (start + i + 1) * GAMMA);                                        \
        return sum;                                                                               \
    }

/* In two loops: compilers widen from 8 or 16 bits to 64 clumsily. */
#define DEFINE_NARROW_SUM(WORD, SUM)                                                              \
    INLINE uint64_t SUM(const WORD *bits, size_t count, uint64_t start)                           \
    {                                                                                             \
        uint32_t wide[BLOCK];                                                                     \
        uint64_t sum = 0;                                                                         \
        for (size_t first = 0; first < count; first += BLOCK) {                                   \
            size_t rest = count - first, size = rest < BLOCK ? rest : BLOCK;                      \
            for (size_t i = 0; i < size; i++)                                                     \
                wide[i] = bits[first + i];                                                        \
            sum += sum_words(wide, size, start + first);                                          \
        }                                                                                         \
        return sum;                                                                               \
    }

DEFINE_SUM(uint32_t, sum_words)
DEFINE_SUM(uint64_t, sum_long_words)
DEFINE_NARROW_SUM(uint8_t, sum_bytes)
DEFINE_NARROW_SUM(uint16_t, sum_half_words)

INLINE uint64_t sum_mixed(const void *data, size_t count, int width, uint64_t start)
{
    switch (width) {
    case 1:
        return sum_bytes(data, count, start);
    case 2:
        return sum_half_words(data, count, start);
    case 4:
        return sum_words(data, count, start);
    default:
        return sum_long_words(data, count, start);
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f,avx512dq")))
static uint64_t sum_avx512(const void *data, size_t count, int width, uint64_t start)
{
    return sum_mixed(data, count, width, start);
}

__attribute__((target("avx2")))
static uint64_t sum_avx2(const void *data, size_t count, int width, uint64_t start)
{
    return sum_mixed(data, count, width, start);
}
#endif

uint64_t digest(const void *data, size_t count, int width, uint64_t start)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512dq"))
        return sum_avx512(data, count, width, start);
    if (__builtin_cpu_supports("avx2"))
        return sum_avx2(data, count, width, start);
#endif
    return sum_mixed(data, count, width, start);
}
