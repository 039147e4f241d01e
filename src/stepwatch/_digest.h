#ifndef STEPWATCH_DIGEST_H
#define STEPWATCH_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Return the digest of count elements of width bytes (1, 2, 4 or 8), the first of which is element
 * start of the tensor; digest.py says what it is. */
uint64_t digest(const void *data, size_t count, int width, uint64_t start);

#endif
