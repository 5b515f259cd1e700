/* SPDX-License-Identifier: Apache-2.0 */
/* Brings a bundle from its store to a directory. */
#include "plugin/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "plugin/archive.h"
#include "plugin/kubectl_stream.h"
#include "plugin/reader_pod.h"
#include "plugin/terminal.h"

#define READY_WAIT "--timeout=180s"
#define MISSING_MAX (64 << 10)
#define NAME_SIZE 40

struct job {
	const struct kubectl *kubectl;
	const char *namespace;
	char name[NAME_SIZE]; /* the name of the pod */
	struct reader_pod reader;
	struct archive archive;
	int64_t bytes;
};

/* Gives the pod a suffix of five lower-case letters, as Kubernetes does. */
static void name_pod(char name[static NAME_SIZE])
{
	unsigned char random[5] = { 0 };

	if (getentropy(random, sizeof(random)) < 0)
		random[0] = (unsigned char)getpid();
	snprintf(name, NAME_SIZE, "afterglow-reader-");
	for (size_t i = 0, at = strlen(name); i < sizeof(random); i++)
		snprintf(name + at + i, NAME_SIZE - at - i, "%c", 'a' + random[i] % 26);
}

/*
 * --- The pod's life
 * -------------------------------------------------------------------------------------
 */

static int create_pod(const struct job *job, struct err *err)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(job->reader.pod);
	const struct stream stream = { .input = text };
	const char *const args[] = { "create", "--filename", "-", NULL };

	if (!text)
		return err_set(err, ENOMEM, "pod");
	int r = kubectl_stream(job->kubectl, args, &stream, err);
	return r < 0 ? err_wrap(err, "creating pod %s/%s", job->namespace, job->name) : 0;
}

static int wait_for_pod(const struct job *job, struct err *err)
{
	const struct stream stream = { 0 };
	char pod[NAME_SIZE + 8];
	const char *const args[] = { "wait",	    "--for=condition=Ready", READY_WAIT,
				     "--namespace", job->namespace,	     pod,
				     NULL };

	snprintf(pod, sizeof(pod), "pod/%s", job->name);
	int r = kubectl_stream(job->kubectl, args, &stream, err);
	return r < 0 ? err_wrap(
			       err,
			       "pod %s did not start (`kubectl describe pod` of such a pod says why)",
			       job->name) :
		       0;
}

/* Deletes the pod, even after a signal. If that fails, a message on stderr is enough. */
static void delete_pod(const struct job *job)
{
	const struct stream stream = { .shielded = true };
	/* Without a time limit a signal could not end us while the API server does not answer. */
	const char *const args[] = { "delete",
				     "pod",
				     job->name,
				     "--namespace",
				     job->namespace,
				     "--ignore-not-found",
				     "--wait=false",
				     "--request-timeout=20s",
				     NULL };
	struct err err = { 0 };

	if (kubectl_stream(job->kubectl, args, &stream, &err) < 0)
		stderr_note("Pod %s/%s was not deleted (%s). It ends by itself within an hour.\n",
			    job->namespace, job->name, err_text(&err));
}

/* --- The directory --- */

static bool is_empty(int dir_fd)
{
	_cleanup_dir_ DIR *dir = dir_of_fd(dup(dir_fd));
	const struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)))
		empty = dir_is_dots(entry->d_name);
	return empty;
}

/*
 * Makes the directory and those above it that are missing, or opens it if it exists and is empty.
 */
static int bundle_open_directory(const char *path, int *ret_fd, struct err *err)
{
	int r = dir_make_all(path, 0755, err);

	if (r < 0)
		return r;
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_set(err, errno, "directory %s", path);
	return is_empty(*ret_fd) ? 0 : err_set(err, EEXIST, "directory %s is not empty", path);
}

/*
 * --- The archive
 * ----------------------------------------------------------------------------------------
 */

static void on_file(void *arg, const char *name, int64_t size)
{
	struct job *job = arg;

	job->bytes += size;
	stderr_note("  %-10s %s\n", SIZE_TEXT(size), name);
}

static int on_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct job *job = arg;
	int r = archive_feed(&job->archive, data, len, err);

	/*
	 * The file that the user asked for is complete. What follows in the archive may be a core.
	 */
	return r == 0 && job->archive.found ? -ECANCELED : r;
}

static int read_archive(struct job *job, struct err *err)
{
	const struct stream stream = { .on_data = on_data, .arg = job };
	const char *args[READER_ARGS_MAX + 10] = { "exec",	   "--namespace",
						   job->namespace, job->name,
						   "--container",  READER_CONTAINER,
						   "--",	   "/usr/bin/afterglow-ship" };
	size_t n = 8;

	for (size_t i = 0; job->reader.args[i]; i++)
		args[n++] = job->reader.args[i];
	args[n] = NULL;
	return kubectl_stream(job->kubectl, args, &stream, err);
}

static int finish(const struct job *job, const char *directory, struct err *err)
{
	_cleanup_strbuf_ struct strbuf missing = STRBUF_INIT(MISSING_MAX);
	int r = archive_end(&job->archive, &missing, err);

	if (r < 0)
		return r;
	stderr_note("%zu files, %s, are in %s, and each is what MANIFEST.json says.\n",
		    job->archive.files, SIZE_TEXT(job->bytes), directory);
	if (missing.len)
		stderr_note(
			"These files are missing: the store does not have them any more, or cannot read them:\n%s",
			strbuf_str(&missing));
	return 0;
}

static int fetch(struct job *job, struct err *err)
{
	stderr_note("Pod %s/%s reads the bundle %s\n", job->namespace, job->name, job->reader.path);
	int r = create_pod(job, err);

	if (r == 0)
		r = wait_for_pod(job, err);
	if (r == 0)
		r = read_archive(job, err);
	/*
	 * The pod is deleted even if creating it failed, because it may exist and only the answer
	 * was lost.
	 */
	delete_pod(job);
	return r;
}

static int job_begin(struct job *job, const cJSON *failure, const cJSON *pods, const char *image,
		     struct err *err)
{
	job->namespace = json_str(failure, "metadata.namespace");
	name_pod(job->name);
	return reader_pod_make(failure, pods, job->name, image, &job->reader, err);
}

int bundle_save(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods,
		const char *image, const char *directory, struct err *err)
{
	struct job job = { .kubectl = kubectl };
	_cleanup_close_ int dir_fd = -1;
	int r = job_begin(&job, failure, pods, image, err);

	if (r == 0)
		r = bundle_open_directory(directory, &dir_fd, err);
	if (r == 0) {
		stream_catch_signals();
		archive_init(&job.archive, dir_fd);
		job.archive.on_file = on_file;
		job.archive.arg = &job;
		r = fetch(&job, err);
		if (r == 0)
			r = finish(&job, directory, err);
		archive_release(&job.archive);
	}
	reader_pod_release(&job.reader);
	return r;
}

int bundle_read(const struct kubectl *kubectl, const cJSON *failure, const cJSON *pods,
		const char *image, const char *name, struct strbuf *content, struct err *err)
{
	struct job job = { .kubectl = kubectl };
	int r = job_begin(&job, failure, pods, image, err);

	if (r == 0) {
		stream_catch_signals();
		archive_init_only(&job.archive, name, content);
		r = fetch(&job, err);
		if (job.archive.found)
			r = strbuf_failed(content) ? err_set(err, EFBIG, "%s is too large", name) :
						     0;
		else if (r == 0)
			r = err_set(err, EPROTO,
				    "the bundle has no %s, or the store does not have it any more",
				    name);
		archive_release(&job.archive);
	}
	reader_pod_release(&job.reader);
	return r;
}
