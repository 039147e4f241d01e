/* Steps whose events are the same, in the same order, as those of a step before.
 *
 * A small training step takes as long as some dozens of Python functions that have gone cold. So a
 * step that goes like the one before is followed here: each event of torch is compared with the one
 * that is due, and of each step the numbers are kept: its losses, and the learning rates of its
 * optimizers. What is not as it was is given back to Python, with what the step had until then;
 * _kernel.pyi says how.
 */

#include "_matcher.h"

#include <math.h>
#include <stdint.h>
#include <time.h>

#ifdef _WIN32

int add_matcher_types(PyObject *module)
{
    (void)module;
    return 0;
}

#else

/* Of what BESIDE is, a step knows nothing; OTHER events are in no step that is followed. */
enum { FORWARD, LOSS, BACKWARD, BEFORE_OPTIMIZER, AFTER_OPTIMIZER, NUM_KINDS };
enum { BESIDE = NUM_KINDS, OTHER };

enum { MOST_STEPS = 64 };

/* An event that is due.
 *   object: a weak reference to the module or the optimizer; of a loss, the code that computes it
 *   name:   of a loss, the function
 *   dtype:  of a loss
 *   place:  of a loss, the instruction in the code; of an optimizer, the number of its groups
 *   depth:  of a loss, how many frames out of its wrapper the code runs
 *   group, index: where an optimizer holds the parameter whose gradient is looked at; group is -1
 *           for none
 */
typedef struct {
    int kind;
    PyObject *object, *name, *dtype;
    Py_ssize_t place, depth, group, index;
} Event;

typedef struct {
    PyObject_HEAD
    int is_active;
    unsigned long thread;
    Event *events;
    Py_ssize_t num_events, at, num_values, num_filled, num_steps, most_steps;
    Py_ssize_t num_calls; /* of follow() */
    double *values;               /* [most_steps][num_values] */
    int64_t times_ns[MOST_STEPS]; /* when each step ended */
    double mean_loss, most_loss, weight, spent_s;
    int64_t give_back_at_ns;
    PyObject *conditions; /* a tuple of (object, attribute, value) */
    PyObject *owner;      /* its gives_back and has_ended are called */
    PyObject *torch;      /* a tuple of those that follow; see _kernel.pyi */
    PyObject *tensor_class, *is_grad_enabled, *tracing_state, *task_id, *frame_of, *dlpack;
} Matcher;

static PyObject *N_item, *N_dim, *N_dtype, *N_requires_grad, *N_training, *N_param_groups,
    *N_params, *N_grad, *N_lr, *N_f_code, *N_f_lasti, *N_is_cpu, *N_is_sparse, *N_gives_back,
    *N_has_ended;

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Return 1 if an attribute is this very object, 0 if not, without an exception. */
static int attribute_is(PyObject *object, PyObject *name, PyObject *wanted)
{
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value)
        PyErr_Clear();
    Py_XDECREF(value);
    return value == wanted;
}

/* Return 1 if a function without arguments returns this very object. */
static int returns(PyObject *function, PyObject *wanted)
{
    PyObject *value = PyObject_CallObject(function, NULL);
    if (!value)
        PyErr_Clear();
    Py_XDECREF(value);
    return value == wanted;
}

/* Return a whole number, -1 where there is none. */
static Py_ssize_t size_of(PyObject *number)
{
    Py_ssize_t size = number && PyLong_Check(number) ? PyLong_AsSsize_t(number) : -1;
    PyErr_Clear();
    Py_XDECREF(number);
    return size;
}

/* What is not traced by torch.jit, and not computed again while gradients are. */
static int runs_eagerly(Matcher *self)
{
    return returns(self->tracing_state, Py_None)
        && size_of(PyObject_CallObject(self->task_id, NULL)) == -1;
}

static int forward_matches(Matcher *self, const Event *event, PyObject *module)
{
    return PyWeakref_GetObject(event->object) == module && runs_eagerly(self)
        && returns(self->is_grad_enabled, Py_True) && attribute_is(module, N_training, Py_True);
}

/* Return 1 if the code that computes a loss is where it was. */
static int is_called_there(Matcher *self, const Event *event)
{
    PyObject *depth = PyLong_FromSsize_t(event->depth);
    PyObject *frame = depth ? PyObject_CallFunctionObjArgs(self->frame_of, depth, NULL) : NULL;
    Py_XDECREF(depth);
    if (!frame) {
        PyErr_Clear();
        return 0;
    }
    int is_there = attribute_is(frame, N_f_code, event->object)
        && size_of(PyObject_GetAttr(frame, N_f_lasti)) == event->place;
    Py_DECREF(frame);
    return is_there;
}

static int loss_matches(Matcher *self, const Event *event, PyObject *arguments)
{
    PyObject *value = PyTuple_GetItem(arguments, 1);
    if (!value || (PyObject *)Py_TYPE(value) != self->tensor_class || !runs_eagerly(self)
        || PyUnicode_Compare(PyTuple_GetItem(arguments, 0), event->name)
        || !attribute_is(value, N_requires_grad, Py_True)
        || !attribute_is(value, N_dtype, event->dtype)
        || size_of(PyObject_CallMethodObjArgs(value, N_dim, NULL)) != 0
        || !is_called_there(self, event))
        return 0;
    /* On a GPU it waits for the model alone, and what is wrong is known. */
    PyObject *number = PyObject_CallMethodObjArgs(value, N_item, NULL);
    double loss = number && PyFloat_Check(number) ? PyFloat_AsDouble(number) : NAN;
    Py_XDECREF(number);
    PyErr_Clear();
    if (!isfinite(loss))
        return 0;
    self->values[self->num_steps * self->num_values + self->num_filled++] = loss;
    return 1;
}

/* Return 1 unless the gradient that stands for all is seen to be not finite. */
static int gradient_is_finite(Matcher *self, const Event *event, PyObject *groups)
{
    PyObject *group = PyList_GetItem(groups, event->group);
    PyObject *parameters = NULL, *one = NULL;
    if (group && PyDict_Check(group))
        parameters = PyDict_GetItemWithError(group, N_params);
    if (parameters && PyList_Check(parameters))
        one = PyList_GetItem(parameters, event->index);
    PyObject *gradient = one ? PyObject_GetAttr(one, N_grad) : NULL;
    PyErr_Clear();
    int is_finite = 1;
    if (gradient && (PyObject *)Py_TYPE(gradient) == self->tensor_class
        && attribute_is(gradient, N_is_cpu, Py_True)
        && attribute_is(gradient, N_is_sparse, Py_False))
        is_finite = tensor_is_finite(self->dlpack, gradient);
    Py_XDECREF(gradient);
    return is_finite;
}

static int optimizer_matches(Matcher *self, const Event *event, PyObject *optimizer)
{
    if (PyWeakref_GetObject(event->object) != optimizer)
        return 0;
    if (event->kind == AFTER_OPTIMIZER)
        return 1;
    PyObject *groups = PyObject_GetAttr(optimizer, N_param_groups);
    int matches = groups && PyList_Check(groups) && PyList_Size(groups) == event->place
        && (event->group < 0 || gradient_is_finite(self, event, groups));
    double *values = self->values + self->num_steps * self->num_values + self->num_filled;
    for (Py_ssize_t i = 0; matches && i < event->place; i++) {
        PyObject *group = PyList_GetItem(groups, i);
        PyObject *rate = group && PyDict_Check(group) ? PyDict_GetItemWithError(group, N_lr) : NULL;
        matches = rate && PyFloat_CheckExact(rate);
        if (matches)
            values[i] = PyFloat_AsDouble(rate);
    }
    PyErr_Clear();
    Py_XDECREF(groups);
    if (matches)
        self->num_filled += event->place;
    return matches;
}

static int matches(Matcher *self, int kind, PyObject *arguments)
{
    const Event *event = &self->events[self->at];
    Py_ssize_t number = PyTuple_Size(arguments);
    if (event->kind != kind || number < 1)
        return 0;
    PyObject *first = PyTuple_GetItem(arguments, 0);
    switch (kind) {
    case FORWARD: return forward_matches(self, event, first);
    case LOSS: return number > 1 && PyUnicode_Check(first) && loss_matches(self, event, arguments);
    case BACKWARD: return 1;
    default: return optimizer_matches(self, event, first);
    }
}

static int conditions_hold(Matcher *self)
{
    for (Py_ssize_t i = 0, number = PyTuple_Size(self->conditions); i < number; i++) {
        PyObject *one = PyTuple_GetItem(self->conditions, i);
        PyObject *value = PyObject_GetAttr(PyTuple_GetItem(one, 0), PyTuple_GetItem(one, 1));
        int holds = value ? PyObject_RichCompareBool(value, PyTuple_GetItem(one, 2), Py_EQ) : 0;
        Py_XDECREF(value);
        PyErr_Clear();
        if (holds != 1)
            return 0;
    }
    return 1;
}

/* A step is over: return 1 if the next one may be followed as well. */
static int goes_on(Matcher *self)
{
    double loss = self->values[self->num_steps * self->num_values];
    self->mean_loss += self->weight * (loss - self->mean_loss);
    self->times_ns[self->num_steps++] = now_ns(CLOCK_REALTIME);
    self->at = self->num_filled = 0;
    return self->num_steps < self->most_steps && self->mean_loss <= self->most_loss
        && now_ns(CLOCK_MONOTONIC) < self->give_back_at_ns && conditions_hold(self);
}

/* Have Python go on, which may have the next steps followed; else no more are. */
static int give_back(Matcher *self, PyObject *name)
{
    Py_ssize_t num_calls = self->num_calls;
    PyObject *result = PyObject_CallMethodObjArgs(self->owner, name, NULL);
    if (self->num_calls == num_calls)
        self->is_active = 0;
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Return 1 if an event was the one that is due, 0 if Python is to take it, -1 with an exception. */
static int follow(Matcher *self, int kind, PyObject *arguments)
{
    if (PyThread_get_thread_ident() != self->thread)
        return 0;
    int64_t began_ns = now_ns(CLOCK_MONOTONIC);
    if (!matches(self, kind, arguments))
        return give_back(self, N_gives_back);
    int is_over = ++self->at == self->num_events && !goes_on(self);
    self->spent_s += 1e-9 * (double)(now_ns(CLOCK_MONOTONIC) - began_ns);
    return is_over && give_back(self, N_has_ended) ? -1 : 1;
}

static void replace(PyObject **place, PyObject *object)
{
    PyObject *before = *place;
    Py_INCREF(object);
    *place = object;
    Py_XDECREF(before);
}

static void forget_events(Matcher *self)
{
    Event *events = self->events;
    Py_ssize_t number = self->num_events;
    self->events = NULL;
    self->num_events = 0;
    for (Py_ssize_t i = 0; i < number; i++) {
        Py_XDECREF(events[i].object);
        Py_XDECREF(events[i].name);
        Py_XDECREF(events[i].dtype);
    }
    PyMem_Free(events);
    PyMem_Free(self->values);
    self->values = NULL;
}

/* Read a tuple (kind, object, name, dtype, place, depth, group, index). */
static int read_event(Event *event, PyObject *item)
{
    PyObject *object, *name, *dtype;
    if (!PyArg_ParseTuple(item, "iOOOnnnn", &event->kind, &object, &name, &dtype, &event->place,
                          &event->depth, &event->group, &event->index))
        return -1;
    replace(&event->object, object);
    replace(&event->name, name);
    replace(&event->dtype, dtype);
    int needs_reference = event->kind != LOSS && event->kind != BACKWARD;
    if (event->kind < 0 || event->kind >= NUM_KINDS
        || (needs_reference && !PyWeakref_Check(event->object))
        || (event->kind == LOSS && !PyUnicode_Check(event->name))) {
        PyErr_SetString(PyExc_ValueError, "no such event");
        return -1;
    }
    return 0;
}

static PyObject *py_learn(PyObject *object, PyObject *arguments)
{
    Matcher *self = (Matcher *)object;
    PyObject *owner, *items;
    if (!PyArg_ParseTuple(arguments, "OO!", &owner, &PyTuple_Type, &items))
        return NULL;
    Py_ssize_t number = PyTuple_Size(items);
    self->is_active = 0;
    forget_events(self);
    replace(&self->owner, owner);
    if (number < 1) {
        PyErr_SetString(PyExc_ValueError, "a step has at least one event");
        return NULL;
    }
    self->events = PyMem_Calloc((size_t)number, sizeof *self->events);
    if (!self->events)
        return PyErr_NoMemory();
    self->num_events = number;
    self->num_values = 0;
    for (Py_ssize_t i = 0; i < number; i++) {
        Event *event = &self->events[i];
        if (read_event(event, PyTuple_GetItem(items, i))) {
            forget_events(self);
            return NULL;
        }
        if (event->kind == LOSS)
            self->num_values++;
        else if (event->kind == BEFORE_OPTIMIZER)
            self->num_values += event->place;
    }
    self->values = PyMem_Calloc((size_t)self->num_values * MOST_STEPS + 1, sizeof *self->values);
    if (!self->values) {
        forget_events(self);
        return PyErr_NoMemory();
    }
    self->at = self->num_filled = self->num_steps = 0;
    Py_RETURN_NONE;
}

static PyObject *py_follow(PyObject *object, PyObject *arguments)
{
    Matcher *self = (Matcher *)object;
    PyObject *conditions;
    Py_ssize_t most_steps;
    double mean_loss, most_loss, weight, most_s;
    if (!PyArg_ParseTuple(arguments, "nddddO!", &most_steps, &mean_loss, &most_loss, &weight,
                          &most_s, &PyTuple_Type, &conditions))
        return NULL;
    if (!self->num_events || !self->num_values || most_steps < 1) {
        PyErr_SetString(PyExc_ValueError, "nothing to follow");
        return NULL;
    }
    self->most_steps = most_steps < MOST_STEPS ? most_steps : MOST_STEPS;
    self->mean_loss = mean_loss;
    self->most_loss = most_loss;
    self->weight = weight;
    self->give_back_at_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)(1e9 * most_s);
    replace(&self->conditions, conditions);
    self->at = self->num_filled = self->num_steps = 0;
    self->thread = PyThread_get_thread_ident();
    self->spent_s = 0;
    self->num_calls++;
    self->is_active = 1;
    Py_RETURN_NONE;
}

/* Return the numbers of a step, or of what there is of one. */
static PyObject *numbers_of(Matcher *self, Py_ssize_t step, Py_ssize_t number)
{
    PyObject *found = PyTuple_New(number);
    for (Py_ssize_t i = 0; found && i < number; i++) {
        PyObject *value = PyFloat_FromDouble(self->values[step * self->num_values + i]);
        if (!value || PyTuple_SetItem(found, i, value)) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

static PyObject *py_take(PyObject *object, PyObject *unused)
{
    (void)unused;
    Matcher *self = (Matcher *)object;
    self->is_active = 0;
    PyObject *steps = PyList_New(0);
    for (Py_ssize_t i = 0; steps && i < self->num_steps; i++) {
        PyObject *numbers = numbers_of(self, i, self->num_values);
        PyObject *step = NULL;
        if (numbers)
            step = Py_BuildValue("LN", (long long)self->times_ns[i], numbers);
        int failed = !step || PyList_Append(steps, step);
        Py_XDECREF(step);
        if (failed)
            Py_CLEAR(steps);
    }
    PyObject *rest = steps ? numbers_of(self, self->num_steps, self->num_filled) : NULL;
    if (!rest) {
        Py_XDECREF(steps);
        return NULL;
    }
    PyObject *taken = Py_BuildValue("NnNdd", steps, self->at, rest, self->mean_loss, self->spent_s);
    self->at = self->num_filled = self->num_steps = 0;
    self->spent_s = 0;
    return taken;
}

static PyObject *py_is_active(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((Matcher *)object)->is_active);
}

static int matcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    Matcher *self = (Matcher *)object;
    for (Py_ssize_t i = 0; i < self->num_events; i++) {
        Py_VISIT(self->events[i].object);
        Py_VISIT(self->events[i].dtype);
    }
    Py_VISIT(self->conditions);
    Py_VISIT(self->owner);
    Py_VISIT(self->torch);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int matcher_clear(PyObject *object)
{
    Matcher *self = (Matcher *)object;
    self->is_active = 0;
    forget_events(self);
    Py_CLEAR(self->conditions);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->torch);
    return 0;
}

static void matcher_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    matcher_clear(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *matcher_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "StepMatcher takes no keywords");
        return NULL;
    }
    PyObject *tensor_class, *is_grad_enabled, *tracing_state, *task_id, *frame_of, *dlpack;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &tensor_class, &is_grad_enabled, &tracing_state,
                          &task_id, &frame_of, &dlpack))
        return NULL;
    Matcher *self = (Matcher *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(arguments);
    self->torch = arguments;
    self->tensor_class = tensor_class;
    self->is_grad_enabled = is_grad_enabled;
    self->tracing_state = tracing_state;
    self->task_id = task_id;
    self->frame_of = frame_of;
    self->dlpack = dlpack;
    return (PyObject *)self;
}

/* What torch calls for an event: it is compared, or given to a function of Python. */
typedef struct {
    PyObject_HEAD
    int kind;
    PyObject *subscribers; /* of usual steps; where there are none, nothing is to be done */
    PyObject *function;
    Matcher *matcher;
} Source;

static PyObject *source_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    int kind;
    PyObject *subscribers, *function, *matcher;
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "EventSource takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "iO!OO", &kind, &PyList_Type, &subscribers, &function,
                          &matcher))
        return NULL;
    if ((newfunc)PyType_GetSlot(Py_TYPE(matcher), Py_tp_new) != matcher_new) {
        PyErr_SetString(PyExc_TypeError, "need a StepMatcher");
        return NULL;
    }
    Source *self = (Source *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self)
        return NULL;
    self->kind = kind;
    replace(&self->subscribers, subscribers);
    replace(&self->function, function);
    Py_INCREF(matcher);
    self->matcher = (Matcher *)matcher;
    return (PyObject *)self;
}

static PyObject *source_call(PyObject *object, PyObject *arguments, PyObject *named)
{
    Source *self = (Source *)object;
    if (self->matcher->is_active && self->kind != BESIDE) {
        if (!PyList_Size(self->subscribers))
            Py_RETURN_NONE;
        int followed = follow(self->matcher, named ? OTHER : self->kind, arguments);
        if (followed < 0)
            return NULL;
        if (followed)
            Py_RETURN_NONE;
    }
    return PyObject_Call(self->function, arguments, named);
}

static int source_traverse(PyObject *object, visitproc visit, void *arg)
{
    Source *self = (Source *)object;
    Py_VISIT(self->subscribers);
    Py_VISIT(self->function);
    Py_VISIT(self->matcher);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int source_clear(PyObject *object)
{
    Source *self = (Source *)object;
    Py_CLEAR(self->subscribers);
    Py_CLEAR(self->function);
    Py_CLEAR(self->matcher);
    return 0;
}

static void source_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    source_clear(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef MATCHER_METHODS[] = {
    {"learn", py_learn, METH_VARARGS, "learn(owner, events): learn which events a step has."},
    {"follow", py_follow, METH_VARARGS,
     "follow(most_steps, mean_loss, most_loss, weight, most_s, conditions): follow such steps."},
    {"take", py_take, METH_NOARGS,
     "take(): stop, and return (steps, at, numbers, mean_loss, spent_s)."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef MATCHER_PROPERTIES[] = {
    {"is_active", py_is_active, NULL, "Whether steps are followed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot MATCHER_SLOTS[] = {
    {Py_tp_doc, "Follows steps whose events are those of a step before."},
    {Py_tp_new, (void *)matcher_new},
    {Py_tp_dealloc, (void *)matcher_dealloc},
    {Py_tp_traverse, (void *)matcher_traverse},
    {Py_tp_clear, (void *)matcher_clear},
    {Py_tp_methods, MATCHER_METHODS},
    {Py_tp_getset, MATCHER_PROPERTIES},
    {0, NULL},
};

static PyType_Slot SOURCE_SLOTS[] = {
    {Py_tp_doc, "What torch calls for an event: a matcher follows it, or a function is called."},
    {Py_tp_new, (void *)source_new},
    {Py_tp_dealloc, (void *)source_dealloc},
    {Py_tp_traverse, (void *)source_traverse},
    {Py_tp_clear, (void *)source_clear},
    {Py_tp_call, (void *)source_call},
    {0, NULL},
};

static PyType_Spec MATCHER_SPEC = {
    .name = "stepwatch._kernel.StepMatcher",
    .basicsize = sizeof(Matcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = MATCHER_SLOTS,
};

static PyType_Spec SOURCE_SPEC = {
    .name = "stepwatch._kernel.EventSource",
    .basicsize = sizeof(Source),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = SOURCE_SLOTS,
};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type)
        return -1;
    if (PyModule_AddObject(module, name, type)) {
        Py_DECREF(type);
        return -1;
    }
    return 0;
}

int add_matcher_types(PyObject *module)
{
    static const struct {
        PyObject **name;
        const char *text;
    } NAMES[] = {
        {&N_item, "item"},
        {&N_dim, "dim"},
        {&N_dtype, "dtype"},
        {&N_requires_grad, "requires_grad"},
        {&N_training, "training"},
        {&N_param_groups, "param_groups"},
        {&N_params, "params"},
        {&N_grad, "grad"},
        {&N_lr, "lr"},
        {&N_f_code, "f_code"},
        {&N_f_lasti, "f_lasti"},
        {&N_is_cpu, "is_cpu"},
        {&N_is_sparse, "is_sparse"},
        {&N_gives_back, "gives_back"},
        {&N_has_ended, "has_ended"},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!*NAMES[i].name && !(*NAMES[i].name = PyUnicode_InternFromString(NAMES[i].text)))
            return -1;
    return add_type(module, &MATCHER_SPEC, "StepMatcher")
        || add_type(module, &SOURCE_SPEC, "EventSource") ? -1 : 0;
}

#endif
