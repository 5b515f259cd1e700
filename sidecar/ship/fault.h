/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes why a bundle could not be shipped. The kind says whether a person has to act. The table
 * below defines the "kind" of the result, the exit code, and how long a caller should wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * id, name, whether a later try may succeed without a person's help, seconds to wait before it
 * (0: the caller's own backoff)
 */
#define FAULT_KINDS(X) \
	X(NETWORK, "network", true, 0) /* no answer, cut off, too slow */ \
	X(SERVER, "server", true, 0) /* the store reports an error of its own */ \
	X(PROTOCOL, "protocol", false, 0) /* the answer is not one of such a store */ \
	X(TLS, "tls", false, 0) /* the store's certificate is not trusted */ \
	X(REDIRECT, "redirect", false, 0) /* the store redirects to a forbidden place */ \
	X(CREDENTIALS, "credentials", false, 0) /* missing, unknown or wrong */ \
	X(EXPIRED, "credentials-expired", true, 60) /* the kubelet renews mounted Secrets */ \
	X(PERMISSION, "permission", false, 0) /* the identity is known but not allowed */ \
	X(CLOCK, "clock", true, 300) /* our clock and the store's differ too much */ \
	X(BUCKET_MISSING, "bucket-missing", false, 0) \
	X(STORE_MISSING, "store-missing", true, \
	  60) /* the directory is gone: not mounted, or removed */ \
	X(NO_SPACE, "no-space", true, 300) /* full, or over a quota */ \
	X(READ_ONLY, "read-only", false, 0) \
	X(OCCUPIED, "occupied", false, 0) /* something else has the name of a file or directory */ \
	X(IO, "io", true, 60) /* reading the bundle or writing the directory failed */ \
	X(BUNDLE, "bundle", false, 0) /* incomplete, damaged, or no bundle */ \
	X(BUNDLE_CHANGED, "bundle-changed", true, \
	  1) /* it changes now: it differs from its manifest */ \
	X(BUSY, "busy", true, 5) /* another afterglow-ship is shipping it */ \
	X(DEADLINE, "deadline", true, 0) \
	X(MEMORY, "memory", true, 60)

enum fault_kind {
#define FAULT_ID(id, name, retry, after) FAULT_##id,
	FAULT_KINDS(FAULT_ID)
#undef FAULT_ID
		FAULT_KIND_COUNT
};

struct fault {
	enum fault_kind kind;
	int64_t retry_after_s; /* as the store asked, else as the table has it; 0: not known */
	char text[ERR_TEXT_MAX];
};

/*
 * Sets all of *fault. Both functions return -1, so that the caller can return their result. The
 * text may quote a server: what would disturb a line or a terminal becomes '?' (lib/printable.h).
 */
int fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...) _printf_(3, 4);
/* Puts "prefix: " before the text. */
int fault_wrap(struct fault *fault, const char *fmt, ...) _printf_(2, 3);

const char *fault_kind_name(enum fault_kind kind);
/* Whether a later try may succeed without a person's help. */
bool fault_may_pass(enum fault_kind kind);
