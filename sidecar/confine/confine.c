/* SPDX-License-Identifier: Apache-2.0 */
/* Takes rights away from a process before it reads a file that a user wrote. */
#include "sidecar/confine/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

/* A sanitizer's shadow memory takes terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY false
#else
#define LIMIT_MEMORY true
#endif

#define CPU_GRACE_SECONDS 2 /* the time between SIGXCPU and SIGKILL */

/* --- Limits --- */

static int confine_resource_limit(int resource, const char *name, rlim_t soft, rlim_t hard,
				  struct err *err)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return err_set(err, errno, "%s", name);
	want.rlim_max = MIN(hard, now.rlim_max);
	want.rlim_cur = MIN(soft, want.rlim_max);
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return err_set(err, errno, "%s", name);
	return 0;
}

int confine_limit(const struct confine_limits *limits, struct err *err)
{
	const struct {
		int resource;
		const char *name;
		uint64_t value, grace;
	} table[] = {
		{ RLIMIT_AS, "RLIMIT_AS", LIMIT_MEMORY ? limits->addresses : 0, 0 },
		{ RLIMIT_DATA, "RLIMIT_DATA", LIMIT_MEMORY ? limits->memory : 0, 0 },
		{ RLIMIT_CPU, "RLIMIT_CPU", limits->cpu_seconds, CPU_GRACE_SECONDS },
		{ RLIMIT_NOFILE, "RLIMIT_NOFILE", limits->files, 0 },
		{ RLIMIT_FSIZE, "RLIMIT_FSIZE", limits->output, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].value &&
		    confine_resource_limit(table[i].resource, table[i].name, table[i].value,
					   table[i].value + table[i].grace, err) < 0)
			return -err->code;
	return confine_resource_limit(RLIMIT_CORE, "RLIMIT_CORE", 0, 0, err);
}

/*
 * Closes the descriptors one by one where there is no close_range (before Linux 5.9), as far as
 * their numbers can reach.
 */
static void close_from_to(unsigned int first, unsigned int last)
{
	struct rlimit files = { .rlim_cur = 1024 };

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &files);
	for (unsigned int fd = first; fd <= last && fd < files.rlim_cur; fd++)
		close((int)fd);
}

void confine_descriptors(const int *keep, size_t n)
{
	unsigned int first = 0;

	for (size_t i = 0; i < n; i++) {
		if (keep[i] < (int)first)
			continue; /* this number is handled again with the new limit */
		if (keep[i] > (int)first)
			close_from_to(first, (unsigned int)keep[i] - 1);
		first = (unsigned int)keep[i] + 1;
	}
	close_from_to(first, UINT32_MAX);
}

/* --- Landlock --- */

/*
 * What each version of the interface can refuse. The headers of Debian 12 know only two versions.
 */
static const struct {
	uint64_t files, net, scoped;
} handled[] = {
	{ 0x1fff, 0, 0 }, /* 1: files and directories, from Linux 5.13 */
	{ 0x3fff, 0, 0 }, /* 2: links and renames between directories */
	{ 0x7fff, 0, 0 }, /* 3: truncation */
	{ 0x7fff, 3, 0 }, /* 4: TCP */
	{ 0xffff, 3, 0 }, /* 5: ioctl of devices */
	{ 0xffff, 3, 3 }, /* 6: abstract unix sockets and signals of other processes */
};

/*
 * The structure as it is from version 6 on. An older kernel takes a shorter one, and accepts a
 * longer one if the rest is zeros.
 */
struct ruleset {
	uint64_t files, net, scoped;
};

static int restrict_to(int ruleset_fd, int readable_fd, struct err *err)
{
	const struct landlock_path_beneath_attr beneath = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = readable_fd,
	};

	if (readable_fd >= 0 &&
	    syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return err_set(err, errno, "Landlock's rule");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "no new privileges");
	if (syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0)
		return err_set(err, errno, "Landlock");
	return 0;
}

int confine_files(int readable_fd, struct err *err)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	_cleanup_close_ int fd = -1;
	struct ruleset rules;

	if (version <= 0)
		return 0;
	memcpy(&rules, &handled[MIN((size_t)version, ARRAY_SIZE(handled)) - 1], sizeof(rules));
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules,
			  version < 4 ? 8 :
			  version < 6 ? 16 :
					sizeof(rules),
			  0);
	if (fd < 0)
		return err_set(err, errno, "Landlock's rules");
	return restrict_to(fd, readable_fd, err) < 0 ? -err->code : (int)version;
}

/* --- System calls --- */

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define SKIP_UNLESS(is, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (is), 0, (n))
#define PER_RULE 6 /* instructions */
#define AROUND 4

/* The machines that we support are little-endian, so the lower half of an argument comes first. */
static size_t confine_add_rule(struct sock_filter *code, const struct confine_rule *rule)
{
	const struct sock_filter always[] = {
		FIELD(nr),
		SKIP_UNLESS((uint32_t)rule->call, 1),
		RETURN(SECCOMP_RET_ALLOW),
	};
	/* clang-format off */
	const struct sock_filter tested[] = {
		FIELD(nr), SKIP_UNLESS((uint32_t)rule->call, 4), FIELD(args[rule->argument]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask), SKIP_UNLESS(rule->value, 1), RETURN(SECCOMP_RET_ALLOW),
	};
	/* clang-format on */

	memcpy(code, rule->mask ? tested : always, rule->mask ? sizeof(tested) : sizeof(always));
	return rule->mask ? ARRAY_SIZE(tested) : ARRAY_SIZE(always);
}

int confine_calls(const struct confine_rule *rules, size_t n, struct err *err)
{
	struct sock_filter code[PER_RULE * CONFINE_RULES_MAX + AROUND] = {
		FIELD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = 3, .filter = code };

	if (n > CONFINE_RULES_MAX)
		return err_set(err, E2BIG, "%zu rules", n);
	for (size_t i = 0; i < n; i++)
		program.len = (unsigned short)(program.len +
					       confine_add_rule(code + program.len, &rules[i]));
	code[program.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EACCES);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "no new privileges");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return err_set(err, errno == EINVAL ? ENOSYS : errno,
			       "this kernel cannot confine system calls (seccomp)");
	return 0;
}
