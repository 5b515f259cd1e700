/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose functions have no names in its dynamic symbol table. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* After a call, so that it is no tail call and its frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

static __attribute__((noinline, noclone)) int inner(const volatile int *p)
{
	int r = *p;

	STAY();
	return r;
}

static int reads(int n)
{
	int r = inner((const volatile int *)(long)n);

	STAY();
	return r;
}

static int aborts(int n)
{
	if (n > 0)
		abort();
	return n;
}

static int aborts_elsewhere(int n)
{
	if (n > 1)
		abort();
	return n + 1;
}

/* Machine code without unwind information: push rbp; mov ebp, 1; mov eax, [edi]; pop rbp; ret. */
static int generated(int n)
{
	static const unsigned char code[] = { 0x55, 0xbd, 1, 0, 0, 0, 0x8b, 0x07, 0x5d, 0xc3 };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	memcpy(page, code, sizeof(code));
	r = ((int (*)(int))page)(n);
	STAY();
	return r;
}

int (*const library_calls[])(int) = { reads, aborts, aborts_elsewhere, generated };
