/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the cores of one container. */
#include "sidecar/crash/crashes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/failure_class.h"
#include "lib/file_time.h"
#include "lib/loop/timer.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "sidecar/core/elf_core.h"
#include "sidecar/crash/crashes_internal.h"

/*
 * Each crash costs a child, and a container may crash again and again. So BURST crashes are handled
 * at once, then one per SPACING_NS.
 */
#define BURST 60
#define SPACING_NS (10 * NS_PER_SEC)
/*
 * A look at a core costs a fork. After each hello of a launcher there is a look at each core in its
 * container.
 */
#define LOOKS_BURST 600
#define LOOKS_SPACING_NS (100 * NS_PER_MS)
/* No kernel writes a core for longer: the file was changed later. */
#define DUMP_MAX_NS (900 * NS_PER_SEC)
#define LOOK_GIVE_UP_NS (60 * NS_PER_SEC)

bool cores_mode_parse(const char *text, enum cores_mode *ret_mode)
{
	static const char *const names[] = { "off", "summary", "full" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_mode = (enum cores_mode)i;
			return true;
		}
	return false;
}

const struct crash_info *crash_info(const struct crash *crash)
{
	return &crash->info;
}

int64_t crash_unix_ns(const struct crash *crash)
{
	return crash->key.mtime_ns;
}

bool crash_is_unwound(const struct crash *crash)
{
	return crash->unwound;
}

const struct strbuf *crash_backtrace(const struct crash *crash)
{
	return &crash->backtrace;
}

void crash_set_note(struct crash *crash, void *note)
{
	free(crash->note);
	crash->note = note;
}

void *crash_note(const struct crash *crash)
{
	return crash->note;
}

bool crashes_busy(const struct crashes *c)
{
	return c && c->list;
}

bool crashes_keeping(const struct crashes *c)
{
	for (const struct crash *crash = c ? c->list : NULL; crash; crash = crash->next)
		if (crash->settled)
			return true;
	return false;
}

struct crash *crashes_find(const struct crashes *c,
			   bool (*fits)(const struct crash *crash, const void *arg),
			   const void *arg)
{
	for (struct crash *crash = c ? c->list : NULL; crash; crash = crash->next)
		if (!crash->settled && !crash->claimed && fits(crash, arg))
			return crash;
	return NULL;
}

void crash_claim(struct crash *crash)
{
	crash->claimed = true;
}

/* --- The end of a crash --- */

static void crash_free(struct crash *crash)
{
	crash->owner->stats->n_crashes--;
	crash_cancel_unwinder(crash);
	child_cancel(crash->opener);
	child_cancel(crash->packer);
	event_drop(crash->turn);
	addition_abort(crash->core);
	addition_abort(crash->late);
	crash->owner->callbacks.discard(&crash->core_fd, 1);
	strbuf_release(&crash->backtrace);
	free(crash->bundle);
	free(crash->note);
	free(crash);
}

static void remove_crash(struct crash *crash)
{
	struct crashes *c = crash->owner;
	struct crash **at;

	for (at = &c->list; *at != crash; at = &(*at)->next)
		;
	*at = crash->next;
	crash_free(crash);
	if (!c->list)
		c->callbacks.idle(c->callbacks.arg);
}

void crash_free_if_over(struct crash *crash)
{
	if (!crash->settled ||
	    (crash->bundle && (!crash->packed || !crash->unwound || crash->adding_late)))
		return;
	taken_note(crash->owner->taken, &crash->key, true, crash->bundle);
	if (!crash->users_own)
		crash->owner->callbacks.over(&crash->key, true, crash->owner->callbacks.arg);
	remove_crash(crash);
}

void crash_leave_file(struct crash *crash)
{
	crash->users_own = true;
}

void crash_will_be_in(struct crash *crash, const char *bundle)
{
	taken_note(crash->owner->taken, &crash->key, false, bundle);
}

void crash_keep(struct crash *crash, const char *bundle, bool with_backtrace)
{
	crash->settled = true;
	crash->bundle = strdup(bundle);
	crash->backtrace_kept = with_backtrace;
	if (!crash->bundle) {
		crash_free_if_over(crash);
		return;
	}
	/*
	 * This is noted before anything else: if the sidecar is killed from here on, the next one
	 * keeps the core and does not report it again.
	 */
	taken_note(crash->owner->taken, &crash->key, false, bundle);
	crash_begin_late_backtrace(crash);
	crash_begin_core(crash);
}

void crash_drop(struct crash *crash, enum core_drop why)
{
	crash->owner->stats->dropped[why]++;
	crash->settled = true;
	crash->users_own |= why == CORE_DROP_NO_CORE;
	crash_cancel_unwinder(crash);
	crash_free_if_over(crash);
}

/* --- The beginning of a crash --- */

/*
 * Returns whether the kernel writes a core for this signal. A core without such a signal was
 * written by a debugger (gcore), of a process that lives on.
 */
static bool dumps_core(int signo)
{
	return signal_is_of_crash(signo) || IS_ONE_OF(signo, SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS);
}

static int first_type(const struct elf_core *, const struct elf_note *note, void *arg)
{
	*(uint32_t *)arg = note->type;
	return 1;
}

/*
 * Returns whether a debugger wrote the core. The kernel begins with the thread that crashed, a
 * debugger with the first thread.
 */
static bool is_by_debugger(const struct elf_core *core)
{
	uint32_t type = 0;

	elf_core_each_note(core, first_type, &type);
	return type == NT_PRPSINFO;
}

/*
 * Returns how long it took to write the core. The kernel removes a file of that name before it
 * makes its own, so the file is as old as the dump. A filesystem may not know that time, and the
 * container may change the other one.
 */
static int64_t dump_time(int core_fd)
{
	struct statx st;

	if (statx(core_fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME))
		return 0;
	int64_t ns = file_time_ns((struct timespec){ st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec }) -
		     file_time_ns((struct timespec){ st.stx_btime.tv_sec, st.stx_btime.tv_nsec });
	return ns > 0 && ns <= DUMP_MAX_NS ? ns : 0;
}

/* In an errand, because the filesystem of the container may not answer. */
static void look_at_core(int core_fd, struct core_look *look)
{
	struct elf_core core;

	look->key = taken_key(core_fd);
	if (elf_core_open(core_fd, &core, &look->err) < 0)
		return;
	elf_core_identify(&core, &look->id);
	if (look->id.tid > 0 && !dumps_core(look->id.signal))
		err_set(&look->err, ENOEXEC, "no signal ended its process: a debugger wrote it");
	look->cut = core.file_size < core.should_size;
	look->by_debugger = is_by_debugger(&core);
	look->dump_ns = look->by_debugger ? 0 : dump_time(core_fd);
	elf_core_close(&core);
}

/*
 * Takes the identity of the crash from the core's content, and from the file's name only what the
 * content lacks.
 */
static void crashes_identify(struct crash *crash, const struct core_look *look,
			     const struct core_hint *hint)
{
	const struct elf_identity *id = &look->id;
	const char *comm = id->comm[0] ? id->comm : hint->comm;

	crash->info.known = true;
	crash->info.pid = id->pid > 0 ? id->pid : hint->pid;
	crash->info.ppid = id->ppid;
	crash->info.tid = id->tid > 0 ? id->tid : hint->tid;
	crash->info.signal = id->signal > 0 && id->signal < 65 ? id->signal : hint->signal;
	crash->info.cut = look->cut;
	crash->info.by_debugger = look->by_debugger;
	crash->info.by_node = hint->by_node;
	crash->info.shared = hint->shared;
	crash->info.dump_ns = look->dump_ns;
	/*
	 * In mode Summary only the beginning of the core is kept, so the parts that are missing
	 * later on do not matter.
	 */
	crash->info.left_out = crash->owner->mode == CORES_FULL ? hint->left_out : 0;
	copy_printable(crash->info.comm, sizeof(crash->info.comm), comm, strlen(comm));
	crash_info_name_core(&crash->info);
}

static void crashes_append(struct crashes *c, struct crash *crash)
{
	struct crash **at = &c->list;

	while (*at)
		at = &(*at)->next;
	*at = crash;
	c->stats->n_crashes++;
}

static bool is_under_way(const struct crashes *c, const struct core_key *key)
{
	for (const struct crash *crash = c->list; crash; crash = crash->next)
		if (memcmp(&crash->key, key, sizeof(*key)) == 0)
			return true;
	return false;
}

/*
 * Refuses a core because too many are being processed. The file is left for the next sidecar. In a
 * storm of crashes, files beyond a limit are removed, because a container that writes cores only
 * because of us must not fill its disk.
 */
static struct crash *crashes_refuse(struct crashes *c, int core_fd, const struct core_key *key,
				    enum core_drop why)
{
	c->callbacks.discard(&core_fd, 1);
	c->stats->dropped[why]++;
	if (why != CORE_DROP_BUSY || !budget_take(&c->left, now_boottime_ns()))
		c->callbacks.over(key, false, c->callbacks.arg);
	return NULL;
}

static struct crash *crashes_begin(struct crashes *c, int core_fd, const struct core_look *look,
				   const struct core_hint *hint, struct err *err)
{
	struct crash *crash = calloc(1, sizeof(*crash));

	if (!crash) {
		c->callbacks.discard(&core_fd, 1);
		err_set(err, ENOMEM, "crash");
		return NULL;
	}
	crash->owner = c;
	crash->core_fd = core_fd;
	crash->key = look->key;
	crash->backtrace = STRBUF_INIT(BACKTRACE_MAX);
	crashes_identify(crash, look, hint);
	return crash;
}

static struct crash *crashes_admit(struct crashes *c, const struct unread_core *core,
				   const struct core_look *look, struct err *err)
{
	const struct taken_core *before =
		look->bundle_missing ? NULL : taken_find(c->taken, &look->key);

	if (before && before->done)
		c->callbacks.over(&look->key, false, c->callbacks.arg);
	if ((before && before->done) || is_under_way(c, &look->key)) {
		c->callbacks.discard(&core->fd, 1);
		return NULL;
	}
	if (look->err.code) {
		/*
		 * It has cost a look and nothing more. It may be the user's own file, so it is left
		 * where it is.
		 */
		c->callbacks.discard(&core->fd, 1);
		c->stats->dropped[CORE_DROP_NO_CORE]++;
		*err = look->err;
		return NULL;
	}
	if (c->stats->n_crashes >= CRASHES_MAX) {
		err_set(err, EBUSY, "%d cores are being dealt with: this one is not looked at now",
			CRASHES_MAX);
		return crashes_refuse(c, core->fd, &look->key, CORE_DROP_BUSY);
	}
	if (!budget_take(&c->paid, now_boottime_ns())) {
		err_set(err, EBUSY, "more than %d in a short time: this one is not looked at",
			BURST);
		return crashes_refuse(c, core->fd, &look->key, CORE_DROP_RATE);
	}
	struct crash *crash = crashes_begin(c, core->fd, look, &core->hint, err);
	if (!crash)
		return NULL;
	c->stats->captured++;
	crashes_append(c, crash);
	crash_start_unwinder(crash);
	if (before && before->bundle) {
		/*
		 * A previous sidecar was killed before it kept the core. If the bundle has a
		 * backtrace already, adding it fails with -EEXIST.
		 */
		_cleanup_free_ char *bundle = strdup(before->bundle);

		/* The container does not hear of this crash, so it is finished here. */
		crash->announced = true;
		if (bundle)
			crash_keep(crash, bundle, false);
		else
			crash_drop(crash, CORE_DROP_FAILED);
		return NULL;
	}
	return crash;
}

/* --- Files that wait to be looked at --- */

/*
 * The body of the errand. A sidecar that was killed may have noted a bundle that it never wrote. If
 * the disk of the bundle does not answer, the bundle counts as written.
 */
static void crashes_look(int fd, void *arg)
{
	const struct crashes *c = arg;
	struct core_look look = { .cut = false };

	look_at_core(c->unread[0].fd, &look);
	const struct taken_core *before = taken_find(c->taken, &look.key);
	if (before && !before->done && before->bundle && !is_under_way(c, &look.key) &&
	    errand_try(CORE_LOOK_NS)) {
		look.bundle_missing = access(before->bundle, F_OK) < 0;
		errand_tried();
	}
	errand_send(fd, &look, sizeof(look), -1);
}

static struct unread_core unread_pop(struct crashes *c)
{
	struct unread_core core = c->unread[0];

	memmove(c->unread, c->unread + 1, --c->n_unread * sizeof(c->unread[0]));
	return core;
}

static int64_t unread_left_ns(const struct crashes *c)
{
	return c->unread[0].since_ns + (c->hurries ? CORE_LOOK_NS : LOOK_GIVE_UP_NS) -
	       now_boottime_ns();
}

static void on_look_over(bool in_time, void *arg);

/* If no process can be started, or looks are too many, tries again in a second. */
static void crashes_look_next(struct crashes *c)
{
	if (c->n_unread == 0 || c->looking.event)
		return;
	if (!c->unread[0].since_ns)
		c->unread[0].since_ns = now_boottime_ns();
	if (unread_left_ns(c) <= 0)
		event_active(c->look_again, EV_TIMEOUT, 0);
	else if (!budget_take(&c->looks, now_boottime_ns()) ||
		 background_start(&c->looking, c->base, crashes_look, c, unread_left_ns(c), NULL,
				  on_look_over, c, NULL) < 0)
		event_add(c->look_again, &(struct timeval){ .tv_sec = 1 });
}

/* Gives up the first file. After the container's end nobody waits for those behind it. */
static void crashes_give_up(struct crashes *c)
{
	do {
		const struct unread_core core = unread_pop(c);
		struct err err = { 0 };

		c->stats->dropped[CORE_DROP_TIMEOUT]++;
		c->callbacks.discard(&core.fd, 1);
		err_set(&err, ETIMEDOUT,
			"PID %d: the filesystem that it is on, or the one of a core before it, does not answer",
			(int)core.hint.pid);
		c->callbacks.looked(NULL, &err, c->callbacks.arg);
	} while (c->hurries && c->n_unread > 0);
	crashes_look_next(c);
}

static void on_look_again(evutil_socket_t, short, void *arg)
{
	struct crashes *c = arg;

	if (c->n_unread > 0 && unread_left_ns(c) <= 0)
		crashes_give_up(c);
	else
		crashes_look_next(c);
}

static void on_look_over(bool in_time, void *arg)
{
	struct crashes *c = arg;
	struct core_look look = c->look;
	struct err err = { 0 };

	if (!c->looking.answered) {
		if (in_time)
			/* it was killed */
			event_add(c->look_again, &(struct timeval){ .tv_sec = 1 });
		else
			crashes_give_up(c);
		return;
	}
	struct unread_core core = unread_pop(c);
	core.hint.comm = core.comm;
	struct crash *crash = crashes_admit(c, &core, &look, &err);
	crashes_look_next(c);
	c->callbacks.looked(crash, &err, c->callbacks.arg);
}

bool crashes_take(struct crashes *c, int core_fd, const struct core_hint *hint)
{
	struct unread_core *core = &c->unread[c->n_unread];

	if (c->n_unread == UNREAD_CORES_MAX) {
		c->stats->dropped[CORE_DROP_BUSY]++;
		return false;
	}
	*core = (struct unread_core){ .fd = core_fd, .hint = *hint };
	snprintf(core->comm, sizeof(core->comm), "%s", hint->comm ? hint->comm : "");
	c->n_unread++;
	crashes_look_next(c);
	return true;
}

size_t crashes_unread(const struct crashes *c)
{
	return c ? c->n_unread : 0;
}

void crashes_hurry(struct crashes *c)
{
	if (!c)
		return;
	c->hurries = true;
	background_limit(&c->looking, CORE_LOOK_NS);
}

struct crashes *crashes_new(struct event_base *base, enum cores_mode mode, int root_fd,
			    struct taken *taken, struct core_stats *stats,
			    const struct crashes_callbacks *callbacks)
{
	struct crashes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = base;
	c->mode = mode;
	c->root_fd = root_fd;
	c->taken = taken;
	c->stats = stats;
	c->callbacks = *callbacks;
	c->paid = c->left = (struct budget){ .spacing_ns = SPACING_NS, .burst = BURST };
	c->looks = (struct budget){ .spacing_ns = LOOKS_SPACING_NS, .burst = LOOKS_BURST };
	c->looking = BACKGROUND_FOR(c->look);
	c->look_again = evtimer_new(base, on_look_again, c);
	if (c->look_again)
		return c;
	free(c);
	return NULL;
}

void crashes_let_go(const struct crashes *c)
{
	for (const struct crash *crash = c ? c->list : NULL; crash; crash = crash->next)
		if (crash->settled && !crash->users_own)
			c->callbacks.over(&crash->key, true, c->callbacks.arg);
}

void crashes_free(struct crashes *c)
{
	struct crash *next;

	if (!c)
		return;
	for (struct crash *crash = c->list; crash; crash = next) {
		next = crash->next;
		crash_free(crash);
	}
	background_cancel(&c->looking);
	while (c->n_unread > 0)
		c->callbacks.discard(&c->unread[--c->n_unread].fd, 1);
	event_free(c->look_again);
	free(c);
}
