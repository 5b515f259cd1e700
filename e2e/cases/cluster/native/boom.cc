// SPDX-License-Identifier: Apache-2.0
// A Python extension with an error that native code makes: it follows a pointer that is null.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace boom {

struct Table {
	int *rows;
};

// Not inlined, so that a backtrace has both.
__attribute__((noinline)) int read_row(const Table *table, int row)
{
	return table->rows[row];
}

__attribute__((noinline)) int look_up(int row)
{
	Table empty = { nullptr };
	// Used after the call, so that this is no tail call.
	return read_row(&empty, row) + row;
}

} // namespace boom

static PyObject *poke(PyObject *, PyObject *args)
{
	int row = 0;

	if (!PyArg_ParseTuple(args, "|i", &row))
		return nullptr;
	return PyLong_FromLong(boom::look_up(row));
}

static PyMethodDef methods[] = {
	{ "poke", poke, METH_VARARGS, "Reads a row of a table that has none." },
	{ nullptr, nullptr, 0, nullptr },
};

static PyModuleDef module = { PyModuleDef_HEAD_INIT, "boom", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr };

PyMODINIT_FUNC PyInit_boom(void)
{
	return PyModule_Create(&module);
}
