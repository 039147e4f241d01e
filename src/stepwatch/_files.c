/* Writes small files one after the other, each aside and then renamed, as LocalStore.put does.
 *
 * A file takes five calls of the system. Where each of them hands the interpreter over and asks for
 * it again, the thread that trains waits as often; here it is handed over once for all files.
 */
#include "_files.h"

#if HAVE_WRITE_FILES

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE_BYTES = 1 << 30 }; /* some systems refuse more at once */

/* A file to write, its bytes, the hidden name beside it under which it is written first, and who
   may read and write it, less the umask. */
typedef struct {
    const char *path, *aside;
    const char *data;
    size_t size;
    mode_t mode;
} NewFile;

/* Make a folder, and those it lies in; path is changed and restored. Return 0 or an errno. */
static int make_folder(char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    char *slash = strrchr(path, '/');
    if (errno != ENOENT || !slash || slash == path)
        return errno;
    *slash = '\0';
    int error = make_folder(path, mode);
    *slash = '/';
    if (error || mkdir(path, mode) == 0 || errno == EEXIST)
        return error;
    return errno;
}

/* Who may read or write the file may look into the folder. */
static int make_folder_of(const char *path, mode_t mode)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ENOENT;
    size_t size = (size_t)(slash - path);
    char *folder = malloc(size + 1);
    if (!folder)
        return ENOMEM;
    memcpy(folder, path, size);
    folder[size] = '\0';
    int error = make_folder(folder, mode | ((mode & 0444) >> 2));
    free(folder);
    return error;
}

/* Return a descriptor, or -1 with errno. */
static int open_new(const char *path, mode_t mode)
{
    int file;
    do
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    while (file < 0 && errno == EINTR);
    return file;
}

static int write_all(int file, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(file, data, size < WRITE_BYTES ? size : WRITE_BYTES);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written == 0)
            return EIO; /* instead of trying for ever */
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

/* Return 0, or an errno; nothing is left of the file then. */
static int write_file(const NewFile *new)
{
    int file = open_new(new->aside, new->mode);
    if (file < 0 && errno == ENOENT) {
        int error = make_folder_of(new->aside, new->mode);
        if (error)
            return error;
        file = open_new(new->aside, new->mode);
    }
    if (file < 0)
        return errno;
    int error = write_all(file, new->data, new->size);
    /* After EINTR it is closed. Other errors are late ones of writing, on network file systems. */
    if (close(file) < 0 && errno != EINTR && !error)
        error = errno;
    if (!error && rename(new->aside, new->path) < 0)
        error = errno;
    if (error)
        unlink(new->aside);
    return error;
}

/* Return how many were written; if not all, *error is the errno of the next one. */
static size_t write_files(const NewFile *files, size_t count, int *error)
{
    size_t done = 0;
    *error = 0;
    while (done < count && !(*error = write_file(&files[done])))
        done++;
    return done;
}

/* Take a file from (aside, path, data), all bytes; return whether that is what it is. */
static int as_new_file(PyObject *item, mode_t mode, NewFile *file)
{
    char *aside, *path, *data;
    Py_ssize_t size;
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 3) {
        PyErr_SetString(PyExc_TypeError, "a file is a tuple of three bytes: aside, path, data");
        return 0;
    }
    /* Without a place for the size, a zero character is refused. */
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(item, 0), &aside, NULL) < 0
        || PyBytes_AsStringAndSize(PyTuple_GetItem(item, 1), &path, NULL) < 0
        || PyBytes_AsStringAndSize(PyTuple_GetItem(item, 2), &data, &size) < 0)
        return 0;
    *file = (NewFile){.path = path, .aside = aside, .data = data, .size = (size_t)size,
                      .mode = mode};
    return 1;
}

PyObject *py_write_files(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *items;
    unsigned int mode = 0666;
    if (!PyArg_ParseTuple(args, "O|I", &items, &mode))
        return NULL;
    PyObject *kept = PySequence_Tuple(items); /* what it holds stays while the GIL is released */
    if (!kept)
        return NULL;
    Py_ssize_t count = PyTuple_Size(kept), taken = 0;
    NewFile *files = calloc(count ? (size_t)count : 1, sizeof *files);
    PyObject *result = NULL;
    if (!files)
        PyErr_NoMemory();
    else
        while (taken < count && as_new_file(PyTuple_GetItem(kept, taken), (mode_t)mode,
                                             &files[taken]))
            taken++;
    if (files && taken == count) {
        size_t done;
        int error;
        Py_BEGIN_ALLOW_THREADS
        done = write_files(files, (size_t)count, &error);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("(ni)", (Py_ssize_t)done, error);
    }
    free(files);
    Py_DECREF(kept);
    return result;
}

#endif
