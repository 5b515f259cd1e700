/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod with a sidecar's socket, for tests: a kubelet's directory and a procfs in which this
 * process is the sidecar.
 */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/node_protocol.h"

#define POD_UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define POD_CONTAINER "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"

static char pod_directory[64], pod_pods[96], pod_proc[96], pod_volume[256];
static int pod_listener;

static void pod_has_this_process(const char *uid)
{
	char path[160], text[256];

	snprintf(path, sizeof(path), "%s/%d", pod_proc, (int)getpid());
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s/%d/cgroup", pod_proc, (int)getpid());
	snprintf(text, sizeof(text), "0::/kubepods/pod%s/" POD_CONTAINER "\n", uid);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static int pod_setup(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int here;

	(void)state;
	snprintf(pod_directory, sizeof(pod_directory), "/tmp/afterglow_pod.XXXXXX");
	assert_non_null(mkdtemp(pod_directory));
	snprintf(pod_pods, sizeof(pod_pods), "%s/pods", pod_directory);
	snprintf(pod_proc, sizeof(pod_proc), "%s/proc", pod_directory);
	snprintf(pod_volume, sizeof(pod_volume),
		 "%s/" POD_UID "/volumes/kubernetes.io~empty-dir/" NODE_VOLUME, pod_pods);
	assert_int_equal(dir_make_all(pod_volume, 0755, NULL), 0);
	pod_has_this_process(POD_UID);
	pod_listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* The path is longer than a socket address can hold. */
	here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(pod_volume), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), NODE_SOCKET_NAME);
	assert_int_equal(bind(pod_listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fchdir(here), 0);
	close(here);
	return listen(pod_listener, 4);
}

static int pod_teardown(void **state)
{
	(void)state;
	close(pod_listener);
	return tree_remove(AT_FDCWD, pod_directory) ? 0 : -1;
}
