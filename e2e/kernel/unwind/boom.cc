// SPDX-License-Identifier: Apache-2.0
// A Python extension in C++ that dereferences a null pointer.
#include <Python.h>

namespace boom {
__attribute__((noinline)) static int deref_null(const int *p)
{
	return *(const volatile int *)p;
}
} // namespace boom

static PyObject *crash(PyObject *, PyObject *)
{
	return PyLong_FromLong(boom::deref_null(nullptr));
}

static PyMethodDef methods[] = { { "crash", crash, METH_NOARGS, nullptr }, { nullptr, nullptr, 0, nullptr } };
static PyModuleDef module = { PyModuleDef_HEAD_INIT, "boom", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr };

PyMODINIT_FUNC PyInit_boom(void)
{
	return PyModule_Create(&module);
}
