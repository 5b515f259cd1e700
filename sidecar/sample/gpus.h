/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which GPUs a container was given, through its root. For NVIDIA it looks for /dev/nvidiaN,
 * and for the places on the bus in /proc/driver/nvidia/gpus, if the runtime shows only the
 * container's there. With CDI that directory lists all GPUs of the node; then it is not known which
 * are the container's. For AMD it looks for /dev/kfd.
 */
#pragma once

#include <stdbool.h>

#define GPUS_MAX 32
#define GPU_PLACE_MAX 24

struct gpus {
	unsigned int n; /* the container has at least this number; 0: none was found */
	bool known; /* places has all of its GPUs and no others */
	char places[GPUS_MAX][GPU_PLACE_MAX]; /* "0000:3b:00.0" */
};

/* Finds the GPUs below root_fd. If root_fd is -1, none are found. */
void gpus_read(int root_fd, struct gpus *ret_gpus);
