#ifndef STEPWATCH_CRC32C_H
#define STEPWATCH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Fill the tables; once, before the first checksum. */
void crc32c_prepare(void);

/* Return the CRC-32C of some bytes; portable: without the instruction that a processor may have. */
uint32_t crc32c(const void *data, size_t size, int portable);

#endif
