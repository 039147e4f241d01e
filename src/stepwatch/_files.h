#ifndef STEPWATCH_FILES_H
#define STEPWATCH_FILES_H

#include <Python.h>

#if defined(__unix__) || defined(__APPLE__)
#define HAVE_WRITE_FILES 1

/* Write files in order, without the GIL; _kernel.pyi says what from. */
PyObject *py_write_files(PyObject *module, PyObject *args);
#else
#define HAVE_WRITE_FILES 0
#endif

#endif
