/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's program files, one for each kind of machine, which go into
 * ConfigMaps. They are mapped, not read: of 110 KiB each nothing need be in memory
 * but while a ConfigMap is written. The files are the image's own, or a build's,
 * which makes a new one each time: one that is shortened meanwhile would end the
 * operator with SIGBUS.
 *
 * In every namespace with Ray there is one ConfigMap, whose keys are named by
 * their content. A pod names the keys that it was made with, and its command the
 * sha256 of each (injection/launch_script.h): who may write ConfigMaps cannot
 * change what runs in other people's pods, and neither can another release of
 * Afterglow.
 */
#ifndef AFTERGLOW_OPERATOR_LAUNCHER_LAUNCHER_H
#define AFTERGLOW_OPERATOR_LAUNCHER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* The name of the ConfigMap. It is always the same one, so that the operator's rights can name it. */
#define LAUNCHER_CONFIGMAP "afterglow-launch"

#define LAUNCHERS_MAX 2 /* x86_64, aarch64 */
/* A ConfigMap holds at most 1 MiB, with all launchers of two releases at a time. */
#define LAUNCHER_MAX ((size_t)240 << 10)
#define LAUNCHER_KEY_MAX 64
#define LAUNCHER_SHA256_MAX 65

struct launcher {
	const char *machine; /* as uname -m says it; static */
	const char *file;    /* its name in a pod's directory of launchers; static */
	const void *data;
	size_t len;
	char sha256[LAUNCHER_SHA256_MAX];  /* hexadecimal */
	char key[LAUNCHER_KEY_MAX];        /* in the ConfigMap: "launch-MACHINE-" and the first 16 digits of sha256 */
};

struct launchers {
	struct launcher of[LAUNCHERS_MAX];
	size_t n;
};

/*
 * path is a file, the launcher for the machine that this program is made for; or a directory, whose files x86_64 and
 * aarch64 are the launchers for these, one of which has to be there. A launcher is a regular file of 1 byte to
 * LAUNCHER_MAX. Errors name the file.
 */
int launchers_load(const char *path, struct launchers *ret_launchers, struct err *err);
void launchers_release(struct launchers *launchers);

/* As launchers_load has it for these bytes, which must outlive it. machine: x86_64 or aarch64. */
struct launcher launcher_of(const char *machine, const void *data, size_t len);

/* Whether a key of the ConfigMap is named as launchers are, of this release or another. NULL is not. */
bool launcher_is_key(const char *key);

#endif
