/* CRC-32C (Castagnoli), reflected: the checksum of TFRecord files.
 *
 * x86-64 has an instruction for it since SSE4.2. Elsewhere eight tables take eight bytes at a
 * time: tables[k][b] is what byte b does to the checksum when k more bytes follow it.
 */
#include "_crc32c.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HAVE_SSE42 1
#else
#define HAVE_SSE42 0
#endif

static uint32_t tables[8][256];

void crc32c_prepare(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
}

static inline uint32_t four_bytes(const unsigned char *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16
           | (uint32_t)data[3] << 24;
}

static uint32_t with_tables(uint32_t crc, const unsigned char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        uint32_t low = crc ^ four_bytes(data), high = four_bytes(data + 4);
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff]
              ^ tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff]
              ^ tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    for (; size; data++, size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xff];
    return crc;
}

#if HAVE_SSE42
__attribute__((target("sse4.2")))
static uint32_t with_instruction(uint32_t crc, const unsigned char *data, size_t size)
{
    uint64_t wide = crc, eight;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&eight, data, sizeof eight);
        wide = _mm_crc32_u64(wide, eight);
    }
    crc = (uint32_t)wide;
    for (; size; data++, size--)
        crc = _mm_crc32_u8(crc, *data);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size, int portable)
{
#if HAVE_SSE42
    if (!portable && __builtin_cpu_supports("sse4.2"))
        return ~with_instruction(~crc, data, size);
#else
    (void)portable;
#endif
    return ~with_tables(~crc, data, size);
}
