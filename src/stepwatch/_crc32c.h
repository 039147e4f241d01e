#ifndef STEPWATCH_CRC32C_H
#define STEPWATCH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Fill the tables; once, before the first checksum. */
void crc32c_prepare(void);

/* Return the CRC-32C of bytes that follow those of which it is crc, at first 0; portable: without
 * the instruction that a processor may have. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size, int portable);

#endif
