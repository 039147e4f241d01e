/* What is used of the C interface by which frameworks lend their tensors (DLPack 1.3): it needs no
 * header of theirs, and stays as it is within a major version.
 */
#ifndef STEPWATCH_DLPACK_H
#define STEPWATCH_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1 };
enum { DL_INT = 0, DL_FLOAT = 2, DL_BFLOAT = 4 };

typedef struct {
    int32_t device_type, device_id;
} DLDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides; /* in elements; no strides for what lies in C order */
    uint64_t byte_offset;
} DLTensor;

typedef struct {
    struct {
        struct {
            uint32_t major, minor;
        } version;
        void *previous;
    } header;
    void *managed_tensor_allocator, *managed_tensor_from_py_object, *managed_tensor_to_py_object;
    /* What it fills is only there until the next change of the tensor; NULL if it is not offered.
     * -1, and a Python exception, if the tensor cannot be described. */
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out);
    void *current_work_stream;
} DLPackExchangeAPI;

#endif
