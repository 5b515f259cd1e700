/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the program files of the launcher. */
#include "operator/launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/macros.h"
#include "operator/kube/object.h"

#if defined(__x86_64__)
#define OWN_MACHINE "x86_64"
#elif defined(__aarch64__)
#define OWN_MACHINE "aarch64"
#else
#error "name the machine as uname -m does"
#endif

#define KEY_PREFIX "launch-"
#define KEY_DIGITS 16

/* The first one has the plain name, because people run it by hand to end a hold. */
static const struct {
	const char *machine, *file;
} machines[LAUNCHERS_MAX] = {
	{ "x86_64", "afterglow-launch" },
	{ "aarch64", "afterglow-launch-aarch64" },
};

struct launcher launcher_of(const char *machine, const void *data, size_t len)
{
	struct launcher launcher = { .data = data, .len = len };

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (strcmp(machines[i].machine, machine) == 0) {
			launcher.machine = machines[i].machine;
			launcher.file = machines[i].file;
		}
	sha256_hex(data, len, LAUNCHER_SHA256_MAX - 1, launcher.sha256);
	snprintf(launcher.key, sizeof(launcher.key), KEY_PREFIX "%s-%.*s", machine, KEY_DIGITS,
		 launcher.sha256);
	return launcher;
}

static int map_file(int fd, const char *path, const struct stat *st, void **ret_data,
		    struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, EINVAL, "%s is no regular file", path);
	if (st->st_size == 0)
		return err_set(err, EINVAL, "%s is empty", path);
	if ((size_t)st->st_size > LAUNCHER_MAX)
		return err_set(err, EFBIG, "%s has more than %zu bytes", path, LAUNCHER_MAX);
	*ret_data = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return *ret_data == MAP_FAILED ? err_set(err, errno, "map %s", path) : 0;
}

/* Maps a file. dir is AT_FDCWD or the directory of name; path is for error messages. */
static int launcher_add(struct launchers *l, const char *machine, int dir, const char *name,
			const char *path, struct err *err)
{
	/* Opening a FIFO could block. */
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", path);
	int r = map_file(fd, path, &st, &data, err);
	if (r == 0)
		l->of[l->n++] = launcher_of(machine, data, (size_t)st.st_size);
	return r;
}

static int add_all(struct launchers *l, int dir, const char *path, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		const char *machine = machines[i].machine;
		char full[512];

		snprintf(full, sizeof(full), "%s/%s", path, machine);
		int r = launcher_add(l, machine, dir, machine, full, err);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return l->n > 0 ? 0 :
			  err_set(err, ENOENT, "%s holds neither %s nor %s", path,
				  machines[0].machine, machines[1].machine);
}

int launchers_load(const char *path, struct launchers *ret_launchers, struct err *err)
{
	_cleanup_close_ int dir = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK);
	struct launchers launchers = { 0 };
	int r = dir >= 0 ? add_all(&launchers, dir, path, err) :
			   launcher_add(&launchers, OWN_MACHINE, AT_FDCWD, path, path, err);

	if (r < 0)
		launchers_release(&launchers);
	else
		*ret_launchers = launchers;
	return r;
}

void launchers_release(struct launchers *launchers)
{
	for (size_t i = 0; i < launchers->n; i++)
		munmap((void *)launchers->of[i].data, launchers->of[i].len);
	*launchers = (struct launchers){ 0 };
}

bool launcher_is_key(const char *key)
{
	if (!key || strncmp(key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0)
		return false;
	key += strlen(KEY_PREFIX);
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		size_t len = strlen(machines[i].machine);

		if (strncmp(key, machines[i].machine, len) == 0 && key[len] == '-')
			return strlen(key + len + 1) == KEY_DIGITS &&
			       strspn(key + len + 1, "0123456789abcdef") == KEY_DIGITS;
	}
	return false;
}
