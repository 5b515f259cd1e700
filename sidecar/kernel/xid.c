/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what the kernel log says about GPUs. */
#include "sidecar/kernel/xid.h"

#include <string.h>
#include <strings.h>

#include "lib/macros.h"
#include "lib/span.h"
#include "lib/units.h"

#define XID_LARGEST 9999

static const struct {
	int xid;
	enum gpu_blame blame;
	const char *meaning;
} table[] = {
#define XID(number, blame, meaning) { number, GPU_##blame, meaning },
#include "sidecar/kernel/xid.def"
#undef XID
};

const char *xid_meaning(int xid, enum gpu_blame *ret_blame)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].xid == xid) {
			*ret_blame = table[i].blame;
			return table[i].meaning;
		}
	return NULL;
}

/* Takes a decimal number of at most max; -1 if there is none. */
static int64_t xid_take_number(struct span *s, int64_t max)
{
	int64_t value = -1;

	span_number(s, max, &value);
	return value;
}

/* Takes "0000:3b:00.0", up to the first byte that cannot be part of it. */
static void take_device(struct span *s, char device[static GPU_DEVICE_MAX])
{
	size_t n = 0;

	while (n < s->len && n + 1 < GPU_DEVICE_MAX && s->at[n] &&
	       strchr("0123456789abcdefABCDEF:.", s->at[n]))
		n++;
	memcpy(device, s->at, n);
	while (n > 0 && strchr(":.", device[n - 1]))
		n--;
	device[n] = '\0';
	s->at += n;
	s->len -= n;
}

/*
 * Takes a process's name, which may contain anything. It ends where the driver's own text goes on,
 * or at the last comma that can end it.
 */
static void take_name(struct span *s, const char *end, char name[static KMSG_NAME_MAX])
{
	const char *at = memmem(s->at, MIN(s->len, (size_t)KMSG_NAME_MAX), end, strlen(end));
	size_t n = at ? (size_t)(at - s->at) : MIN(s->len, (size_t)KMSG_NAME_MAX - 1);

	if (n >= KMSG_NAME_MAX || (n == strlen("<unknown>") && memcmp(s->at, "<unknown>", n) == 0))
		n = 0;
	memcpy(name, s->at, n);
	name[n] = '\0';
}

static bool parse_xid(struct span s, struct gpu_fault *f)
{
	if (!span_take(&s, "NVRM: Xid ("))
		return false;
	span_take(&s, "PCI:");
	take_device(&s, f->device);
	if (!span_take(&s, "): "))
		return false;
	int64_t xid = xid_take_number(&s, XID_LARGEST);
	if (xid <= 0)
		return false;
	f->xid = (int)xid;
	f->meaning = xid_meaning(f->xid, &f->blame);
	if (!f->meaning) {
		/* An unknown Xid is reported, but it explains no death. */
		f->blame = GPU_NOTICE;
		f->meaning = "the driver reported an Xid that NVIDIA's catalog explains";
	}
	if (span_take(&s, ", pid=")) {
		f->pid = xid_take_number(&s, PID_MAX_LIMIT);
		span_take(&s, "'<unknown>'");
		if (span_take(&s, ", name="))
			take_name(&s, ", ", f->name);
	}
	return true;
}

static bool parse_off_the_bus(struct span s, struct gpu_fault *f)
{
	if (!span_take(&s, "NVRM: ") || !span_find(s, "fallen off the bus").at)
		return false;
	if (span_take(&s, "GPU ") || span_take(&s, "The NVIDIA GPU "))
		take_device(&s, f->device);
	f->xid = 79;
	f->meaning = xid_meaning(79, &f->blame);
	return true;
}

/* Takes "Process python pid 5044 thread" and "for process python pid 5044 thread". */
static void take_amd_process(struct span s, struct gpu_fault *f)
{
	s = span_after(s, "for process ");
	if (!s.at)
		return;
	take_name(&s, " pid ", f->name);
	s = span_after(s, " pid ");
	f->pid = xid_take_number(&s, PID_MAX_LIMIT);
}

static bool parse_amd(struct span s, struct gpu_fault *f)
{
	static const struct {
		const char *mark;
		enum gpu_blame blame;
		const char *meaning;
		/* clang-format off */
	} marks[] = {
		{ "] page fault (", GPU_APPLICATION, "the program used an address that is not mapped (page fault)" },
		{ "] retry page fault (", GPU_APPLICATION, "the program used an address that is not mapped (page fault)" },
		{ "GPU fault detected: ", GPU_APPLICATION, "the program used an address that is not mapped (page fault)" },
		{ "uncorrectable hardware error", GPU_HARDWARE, "it had an uncorrectable hardware error" },
		{ "GPU Recovery Failed", GPU_HARDWARE, "it could not be reset after it hung" },
		{ "GPU reset begin!", GPU_HARDWARE, "it hung, and the driver reset it" },
	};
	/* clang-format on */
	struct span rest = s;

	if (!span_take(&rest, "amdgpu "))
		return false;
	take_device(&rest, f->device);
	if (!f->device[0])
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct span at = span_after(rest, marks[i].mark);

		if (!at.at)
			continue;
		f->blame = marks[i].blame;
		f->meaning = marks[i].meaning;
		take_amd_process(at, f);
		return true;
	}
	return false;
}

bool gpu_fault_parse(const char *text, size_t len, struct gpu_fault *ret_fault)
{
	struct gpu_fault f = { .pid = -1 };
	struct span s = { text, len };

	if (!parse_xid(s, &f)) {
		f = (struct gpu_fault){ .pid = -1 };
		if (!parse_off_the_bus(s, &f) && !parse_amd(s, &f))
			return false;
	}
	*ret_fault = f;
	return true;
}

bool gpu_same_device(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n > 0 && n == strcspn(b, ".") && strncasecmp(a, b, n) == 0;
}
