/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the kinds of fault in their table, and formats faults. */
#include "sidecar/ship/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/printable.h"

static const struct {
	const char *name;
	bool may_pass;
	int64_t retry_after_s;
} kinds[] = {
#define FAULT_ROW(id, name, retry, after) { name, retry, after },
	FAULT_KINDS(FAULT_ROW)
#undef FAULT_ROW
};

static int fault_end(struct fault *fault)
{
	mend_printable(fault->text, strlen(fault->text), "");
	return -1;
}

int fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(fault->text, sizeof(fault->text), fmt, args);
	va_end(args);
	fault->kind = kind;
	fault->retry_after_s = kinds[kind].retry_after_s;
	return fault_end(fault);
}

int fault_wrap(struct fault *fault, const char *fmt, ...)
{
	char prefix[ERR_TEXT_MAX], old[ERR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	memcpy(old, fault->text, sizeof(old));
	snprintf(fault->text, sizeof(fault->text), "%s: %s", prefix, old);
	return fault_end(fault);
}

const char *fault_kind_name(enum fault_kind kind)
{
	return kinds[kind].name;
}

bool fault_may_pass(enum fault_kind kind)
{
	return kinds[kind].may_pass;
}
