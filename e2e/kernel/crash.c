/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash [--after MS] [--in DIR] [--open-by NAME] [--memory MIB] [--reserve GIB] [--threads N]:
 * dereferences NULL in a function of a known name. With symbols, so that a backtrace can name it.
 * --reserve: it asks for that many addresses and uses one page of them.
 * --open-by: before that, it waits until a process of that name has the working directory open, but
 * at most two minutes.
 */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
	/* volatile: the compiler would do without it */
	volatile unsigned int *memory = malloc(size);
	unsigned int x = 2463534242u;

	for (size_t i = 0; memory && i < size / sizeof(*memory); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		memory[i] = i % 512 < 256 ? x : (unsigned int)i;
	}
}

static void addresses_reserve(size_t size)
{
	volatile char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory != MAP_FAILED)
		*memory = 1;
}

static bool has_name(const char *pid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	return strcmp(comm, name) == 0;
}

static bool has_open(const char *pid, const char *directory)
{
	char path[64], link[64], target[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	fds = opendir(path);
	while (fds && !found && (entry = readdir(fds))) {
		ssize_t len;

		snprintf(link, sizeof(link), "%.40s/%.20s", path, entry->d_name);
		len = readlink(link, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		found = strcmp(target, directory) == 0;
	}
	if (fds)
		closedir(fds);
	return found;
}

static bool is_open_by(const char *name, const char *directory)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (processes && !found && (entry = readdir(processes)))
		found = has_name(entry->d_name, name) && has_open(entry->d_name, directory);
	if (processes)
		closedir(processes);
	return found;
}

static void wait_until_open_by(const char *name)
{
	char directory[PATH_MAX];

	for (int i = 0;
	     getcwd(directory, sizeof(directory)) && !is_open_by(name, directory) && i < 2400; i++)
		usleep(50 * 1000);
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
		else if (strcmp(argv[i], "--open-by") == 0)
			wait_until_open_by(argv[i + 1]);
		else if (strcmp(argv[i], "--memory") == 0)
			fill((size_t)value << 20);
		else if (strcmp(argv[i], "--reserve") == 0)
			addresses_reserve((size_t)value << 30);
		for (long n = 0; strcmp(argv[i], "--threads") == 0 && n < value; n++)
			pthread_create(&thread, NULL, wait_forever, NULL);
	}
	usleep((unsigned int)after * 1000);
	return deref_null(NULL);
}
