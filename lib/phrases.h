/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the words for containers and pods in a text by those that a reader without Kubernetes
 * knows. Pure.
 */
#pragma once

#include <stddef.h>

/* A table of them has longer ones before those that they contain. */
struct phrase {
	const char *of_container, *of_command;
};

/*
 * Replaces each phrase wherever it stands in text, which has room for size bytes. What does not fit
 * is cut.
 */
void phrases_replace(char *text, size_t size, const struct phrase *phrases, size_t n);
