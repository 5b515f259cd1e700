/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash [--after MS] [--in DIR] [--memory MIB] [--threads N]: dereferences NULL in
 * a function of a known name. With symbols, so that a backtrace can name it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int deref_null(const volatile int *p);

__attribute__((noinline)) int deref_null(const volatile int *p)
{
	return *p;
}

static void *wait_forever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Half of it noise, so that it neither compresses away nor stays whole. */
static void fill(size_t size)
{
	volatile unsigned int *memory = malloc(size); /* volatile: the compiler would do without it */
	unsigned int x = 2463534242u;

	for (size_t i = 0; memory && i < size / sizeof(*memory); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		memory[i] = i % 512 < 256 ? x : (unsigned int)i;
	}
}

int main(int argc, char **argv)
{
	long after = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		long value = strtol(argv[i + 1], NULL, 10);
		pthread_t thread;

		if (strcmp(argv[i], "--after") == 0)
			after = value;
		else if (strcmp(argv[i], "--in") == 0 && chdir(argv[i + 1]) < 0)
			return 2;
		else if (strcmp(argv[i], "--memory") == 0)
			fill((size_t)value << 20);
		for (long n = 0; strcmp(argv[i], "--threads") == 0 && n < value; n++)
			pthread_create(&thread, NULL, wait_forever, NULL);
	}
	usleep((unsigned int)after * 1000);
	return deref_null(NULL);
}
