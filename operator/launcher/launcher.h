/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's program files, one for each kind of machine, which go into
 * ConfigMaps. They are mapped and not read, because their 120 kB each are needed
 * in memory only while a ConfigMap is written. The files come with the image, or
 * from a build, which writes a new file each time. A file that is shortened while
 * it is mapped would end the operator with SIGBUS.
 *
 * In every namespace with Ray there is one ConfigMap, whose keys are named by
 * their content. A pod names the keys that it was made with, and its command the
 * sha256 of each (injection/launch_script.h). So a person who may write ConfigMaps
 * cannot change what runs in other people's pods, and neither can another release
 * of Afterglow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* The name of the ConfigMap. It is always the same, so that the operator's rights can name it. */
#define LAUNCHER_CONFIGMAP "afterglow-launch"

#define LAUNCHERS_MAX 2 /* x86_64, aarch64 */
/* A ConfigMap holds at most 1 MiB, with all launchers of two releases at a time. */
#define LAUNCHER_MAX ((size_t)240 << 10)
#define LAUNCHER_KEY_MAX 64
#define LAUNCHER_SHA256_MAX 65

struct launcher {
	const char *machine; /* as uname -m says it; static */
	const char *file; /* its name in a pod's directory of launchers; static */
	const void *data;
	size_t len;
	char sha256[LAUNCHER_SHA256_MAX]; /* hexadecimal */
	char key[LAUNCHER_KEY_MAX]; /* in the ConfigMap: "launch-MACHINE-" and the first 16 digits of sha256 */
};

struct launchers {
	struct launcher of[LAUNCHERS_MAX];
	size_t n;
};

/*
 * Loads launchers. path is a file, the launcher for the machine that this program is made for; or a
 * directory with launchers in files named x86_64 and aarch64, at least one of which must exist. A
 * launcher is a regular file of 1 byte to LAUNCHER_MAX. Errors name the file.
 */
int launchers_load(const char *path, struct launchers *ret_launchers, struct err *err);
void launchers_release(struct launchers *launchers);

/*
 * Makes a launcher of these bytes, which must outlive it, as launchers_load does. machine: x86_64
 * or aarch64.
 */
struct launcher launcher_of(const char *machine, const void *data, size_t len);

/*
 * Returns whether a key of the ConfigMap has the form of a launcher's, of this release or another.
 * A NULL key has not.
 */
bool launcher_is_key(const char *key);
