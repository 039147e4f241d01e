#ifndef STEPWATCH_MATCHER_H
#define STEPWATCH_MATCHER_H

#include <Python.h>

/* Return 1 if a tensor is seen to be finite, 0 if it is not or cannot be read here as it lies; never
 * with an exception. `api` is a capsule with the DLPack exchange interface of its class. */
int tensor_is_finite(PyObject *api, PyObject *tensor);

/* Add the types StepMatcher and EventSource to a module, but on Windows; return 0, or -1 and an
 * exception. */
int add_matcher_types(PyObject *module);

#endif
