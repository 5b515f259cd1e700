/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader LIBRARY WAY [delete]: loads library.c and calls its function number WAY, after it has
 * removed the file as code generators do.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __attribute__((noinline, noclone)) int innocent(int (*call)(int))
{
	int r = call(8);

	__asm__ volatile("" ::: "memory");
	return r;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 2 ? argv[1] : "", RTLD_NOW);
	int (**calls)(int) = library ? dlsym(library, "library_calls") : NULL;

	if (!calls)
		return 2;
	if (argc > 3 && strcmp(argv[3], "delete") == 0)
		unlink(argv[1]);
	return innocent(calls[atoi(argv[2])]);
}
