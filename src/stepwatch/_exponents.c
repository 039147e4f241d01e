/* Histograms of exponents; exponents.py says what the bins are.
 *
 * In blocks that stay in the L1 cache: a loop without branches, which the compiler vectorises,
 * turns elements into bins of a byte each; a second counts them, in as many tables as there are
 * bytes in a word, so that neighbours of one bin do not wait for each other.
 */
#include "_exponents.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && defined(__GLIBC__)
#define CLONED __attribute__((target_clones("avx2", "default")))
#else
#define CLONED
#endif

enum { BLOCK = 2048, TABLES = 8, NO_BIN = NUM_EXPONENTS, LOWEST = -41 };

/* A bin for a field of BITS without the sign; SPECIAL is the field of infinity, and nothing that
 * is subnormal reaches the second bin. */
#define DEFINE_BINS(WORD, SIGNED, FIND, SHIFT, BIAS, SPECIAL)                                     \
    CLONED static void FIND(const WORD *bits, size_t count, uint8_t *bins)                        \
    {                                                                                             \
        for (size_t i = 0; i < count; i++) {                                                      \
            WORD magnitude = (WORD)(bits[i] << 1) >> 1;                                           \
            SIGNED field = (SIGNED)(magnitude >> SHIFT);                                          \
            SIGNED bin = field - (BIAS + LOWEST);                                                 \
            bin = bin < 0 ? 0 : bin;                                                              \
            bin = bin > NUM_EXPONENTS - 1 ? NUM_EXPONENTS - 1 : bin;                              \
            bins[i] = (uint8_t)(magnitude == 0 || field == SPECIAL ? NO_BIN : bin);               \
        }                                                                                         \
    }

DEFINE_BINS(uint32_t, int32_t, find_float32, 23, 127, 255)
DEFINE_BINS(uint64_t, int64_t, find_float64, 52, 1023, 2047)
DEFINE_BINS(uint16_t, int16_t, find_bfloat16, 7, 127, 255)

/* Subnormals have exponents of their own: that of the highest bit of the mantissa. Counted by
 * comparisons, all in 16 bits, it needs no shift that differs from lane to lane. */
CLONED static void find_float16(const uint16_t *bits, size_t count, uint8_t *bins)
{
    for (size_t i = 0; i < count; i++) {
        int16_t magnitude = (int16_t)(bits[i] & 0x7fff), subnormal = -24 - LOWEST;
        for (int bit = 1; bit < 10; bit++)
            subnormal = (int16_t)(subnormal + (magnitude >= 1 << bit));
        int16_t normal = (int16_t)((magnitude >> 10) - 15 - LOWEST);
        int16_t bin = magnitude < 0x400 ? subnormal : normal;
        bins[i] = (uint8_t)(magnitude == 0 || magnitude >= 0x7c00 ? NO_BIN : bin);
    }
}

static const size_t ITEMSIZE[] = {4, 8, 2, 2};

static void find_bins(const void *data, size_t count, int kind, uint8_t *bins)
{
    switch (kind) {
    case 0:
        find_float32(data, count, bins);
        return;
    case 1:
        find_float64(data, count, bins);
        return;
    case 2:
        find_bfloat16(data, count, bins);
        return;
    default:
        find_float16(data, count, bins);
    }
}

void count_exponents(const void *data, size_t count, int kind, int64_t *counts)
{
    uint8_t bins[BLOCK];
    int64_t tables[TABLES][NO_BIN + 1] = {{0}};
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t rest = count - first, size = rest < BLOCK ? rest : BLOCK, i = 0;
        find_bins((const char *)data + first * ITEMSIZE[kind], size, kind, bins);
        for (; i + TABLES <= size; i += TABLES)
            for (int table = 0; table < TABLES; table++)
                tables[table][bins[i + (size_t)table]]++;
        for (; i < size; i++)
            tables[0][bins[i]]++;
    }
    memset(counts, 0, NUM_EXPONENTS * sizeof *counts);
    for (int table = 0; table < TABLES; table++)
        for (int bin = 0; bin < NUM_EXPONENTS; bin++)
            counts[bin] += tables[table][bin];
}
