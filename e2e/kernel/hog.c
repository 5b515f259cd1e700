/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hog SIZE [OPTION...]: uses up memory, as a leaking task would. Static and
 * small, so that what it uses is what it was asked to use.
 *
 *	--rate BYTES	per second (default: as fast as it goes)
 *	--name TITLE	what it is called in /proc/PID/comm and cmdline
 *	--children N	N children use SIZE each; their parent waits for them
 *	--shm		shared anonymous memory (shmem) in place of private
 *	--hold		stay when the size is reached, also without one's children; otherwise exit 0
 *	--die SIGNO	end by this signal when the size is reached
 *
 * Sizes may end in K, M or G. A parent whose child was killed exits 1.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP ((size_t)64 * 1024) /* touched between two looks at the clock */

struct options {
	size_t size, rate;
	const char *name;
	long children;
	int die;
	bool shm, hold;
};

static size_t parse_size(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	switch (*end) {
	case 'G':
		n *= 1024; /* fall through */
	case 'M':
		n *= 1024; /* fall through */
	case 'K':
		n *= 1024;
		end++;
	}
	if (!n || *end) {
		fprintf(stderr, "hog: %s is not a size\n", text);
		exit(2);
	}
	return n;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * The kernel shows argv's own memory as cmdline, so the title is written over it, as far as it is
 * long.
 */
static void set_title(char **argv, const char *title)
{
	char copy[256];
	char *last = argv[0];
	size_t room;

	snprintf(copy, sizeof(copy), "%s", title);
	for (char **a = argv; *a; a++)
		last = *a + strlen(*a);
	room = (size_t)(last - argv[0]);
	memset(argv[0], 0, room);
	memcpy(argv[0], copy, strlen(copy) < room ? strlen(copy) : room);
	prctl(PR_SET_NAME, copy);
}

static void use_memory(const struct options *o)
{
	double begin = now();
	char *memory = mmap(NULL, o->size, PROT_READ | PROT_WRITE,
			    (o->shm ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		fprintf(stderr, "hog: %zu bytes: %s\n", o->size, strerror(errno));
		exit(2);
	}
	for (size_t done = 0; done < o->size; done += STEP) {
		memset(memory + done, 0xa5, o->size - done < STEP ? o->size - done : STEP);
		while (o->rate && (double)done > (now() - begin) * (double)o->rate)
			usleep(1000);
	}
	if (o->die)
		kill(getpid(), o->die);
	while (o->hold)
		pause();
}

static int with_children(const struct options *o)
{
	int status, result = 0;

	for (long i = 0; i < o->children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			use_memory(o);
			_exit(0);
		}
		if (pid < 0) {
			perror("hog: fork");
			return 2;
		}
	}
	while (wait(&status) > 0)
		if (status != 0)
			result = 1;
	while (o->hold)
		pause();
	return result;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--shm") == 0)
			o.shm = true;
		else if (strcmp(argv[i], "--hold") == 0)
			o.hold = true;
		else if (strcmp(argv[i], "--rate") == 0 && i + 1 < argc)
			o.rate = parse_size(argv[++i]);
		else if (strcmp(argv[i], "--name") == 0 && i + 1 < argc)
			o.name = argv[++i];
		else if (strcmp(argv[i], "--children") == 0 && i + 1 < argc)
			o.children = strtol(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--die") == 0 && i + 1 < argc)
			o.die = (int)strtol(argv[++i], NULL, 10);
		else
			o.size = parse_size(argv[i]);
	}
	if (!o.size) {
		fputs("usage: hog SIZE [--rate BYTES] [--name TITLE] [--children N] [--shm] [--hold] [--die SIGNO]\n",
		      stderr);
		return 2;
	}
	if (o.name)
		set_title(argv, strdup(o.name));
	if (o.children > 0)
		return with_children(&o);
	use_memory(&o);
	return 0;
}
