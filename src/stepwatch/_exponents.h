#ifndef STEPWATCH_EXPONENTS_H
#define STEPWATCH_EXPONENTS_H

#include <stddef.h>
#include <stdint.h>

enum { NUM_EXPONENTS = 64 };

/* Write how many of count elements have which exponent; exponents.py says what the bins are.
 * kind is what summarize calls it: float32, float64, bfloat16, float16. */
void count_exponents(const void *data, size_t count, int kind, int64_t *counts);

#endif
