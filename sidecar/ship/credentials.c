/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the credentials of a mounted Secret. */
#include "sidecar/ship/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/fileio.h"
#include "lib/log.h"

static const struct {
	const char *file;
	size_t at;
} files[] = {
	{ "access-key-id", offsetof(struct credentials, access_key_id) },
	{ "secret-access-key", offsetof(struct credentials, secret_access_key) },
	{ "session-token", offsetof(struct credentials, session_token) },
	{ "role-arn", offsetof(struct credentials, role_arn) },
	{ "web-identity-token", offsetof(struct credentials, web_identity_token) },
	{ "account-key", offsetof(struct credentials, account_key) },
	{ "sas-token", offsetof(struct credentials, sas_token) },
	{ "delegation-token", offsetof(struct credentials, delegation_token) },
	{ "principal", offsetof(struct credentials, principal) },
};

/* Files that a library reads, by their paths. */
static const struct {
	const char *file;
	size_t at;
	bool secret;
} path_files[] = {
	{ "ca.crt", offsetof(struct credentials, ca), false },
	{ "keytab", offsetof(struct credentials, keytab), true },
	{ "krb5.conf", offsetof(struct credentials, krb5_conf), false },
};

static char **credentials_at(struct credentials *c, size_t i)
{
	return (char **)((char *)c + files[i].at);
}

bool credential_is_word(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

static char *credentials_trimmed(const struct strbuf *text)
{
	const char *start = strbuf_str(text), *end = start + text->len;

	while (start < end && (unsigned char)*start <= ' ')
		start++;
	while (end > start && (unsigned char)end[-1] <= ' ')
		end--;
	return strndup(start, (size_t)(end - start));
}

/*
 * Recognizes a Secret that the kubelet mounted. Its files belong to root, and a sidecar that is not
 * root can read them only if everybody may. The mount decides which containers see them.
 */
static bool is_kubelets(int dir_fd)
{
	return faccessat(dir_fd, "..data", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Kubernetes mounts symlinks to files, so links are followed. A missing file counts as no value. */
static int read_one(int dir_fd, const char *file, struct credentials *c, char **ret_value,
		    struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CREDENTIAL_MAX);
	_cleanup_close_ int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct err err = { 0 };
	struct stat st;
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(fault, FAULT_CREDENTIALS, "credential %s: %s", file,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fault_set(fault, FAULT_CREDENTIALS, "credential %s is no file", file);
	if ((st.st_mode & 07) && !is_kubelets(dir_fd))
		c->open_to_all = true;
	if (fd_read_all(fd, &text, &err) < 0)
		r = fault_set(fault, FAULT_CREDENTIALS, "credential %s: %s", file, err_text(&err));
	else if (!(*ret_value = credentials_trimmed(&text)))
		r = fault_set(fault, FAULT_MEMORY, "credential %s: out of memory", file);
	else if (!credential_is_word(*ret_value))
		r = fault_set(fault, FAULT_CREDENTIALS, "credential %s is empty or holds blanks",
			      file);
	credential_wipe(&text);
	return r;
}

int credential_read_file(const char *path, char **ret_value, struct fault *fault)
{
	struct credentials unused = { 0 };
	char *value = NULL;

	if (read_one(AT_FDCWD, path, &unused, &value, fault) < 0) {
		credential_forget(&value);
		return -1;
	}
	if (!value)
		return fault_set(fault, FAULT_CREDENTIALS, "credential %s: %s", path,
				 strerror(ENOENT));
	*ret_value = value;
	return 0;
}

static int find_path(const char *dir, int dir_fd, size_t i, struct credentials *c,
		     struct fault *fault)
{
	char **path = (char **)((char *)c + path_files[i].at);
	struct stat st;

	if (fstatat(dir_fd, path_files[i].file, &st, 0) < 0)
		return 0;
	if (faccessat(dir_fd, path_files[i].file, R_OK, AT_EACCESS) < 0)
		return fault_set(fault, FAULT_CREDENTIALS, "credential %s: %s", path_files[i].file,
				 strerror(errno));
	if (asprintf(path, "%s/%s", dir, path_files[i].file) < 0) {
		*path = NULL;
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", path_files[i].file);
	}
	if (path_files[i].secret && (st.st_mode & 07) && !is_kubelets(dir_fd))
		c->open_to_all = true;
	return 0;
}

int credentials_read(const char *dir, struct credentials *ret_credentials, struct fault *fault)
{
	struct credentials c = { 0 };
	_cleanup_close_ int dir_fd = -1;
	int r = 0;

	if (dir) {
		dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/*
		 * An optional Secret does not exist. Only the store knows whether that is an error.
		 */
		if (dir_fd < 0 && errno == ENOENT)
			dir = NULL;
		else if (dir_fd < 0)
			return fault_set(fault, FAULT_CREDENTIALS, "credentials: open %s: %s", dir,
					 strerror(errno));
	}
	for (size_t i = 0; dir && r == 0 && i < ARRAY_SIZE(files); i++)
		r = read_one(dir_fd, files[i].file, &c, credentials_at(&c, i), fault);
	for (size_t i = 0; dir && r == 0 && i < ARRAY_SIZE(path_files); i++)
		r = find_path(dir, dir_fd, i, &c, fault);
	if (r < 0) {
		credentials_release(&c);
		return r;
	}
	if (c.open_to_all)
		log_warning("credentials in %s can be read by every user of this machine", dir);
	*ret_credentials = c;
	return 0;
}

void credentials_release(struct credentials *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		credential_forget(credentials_at(c, i));
	for (size_t i = 0; i < ARRAY_SIZE(path_files); i++)
		free(*(char **)((char *)c + path_files[i].at));
	*c = (struct credentials){ 0 };
}
