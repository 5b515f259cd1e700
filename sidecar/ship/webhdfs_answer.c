/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values in WebHDFS's JSON. */
#include "sidecar/ship/webhdfs_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "sidecar/ship/credentials.h"

/* --- Exceptions --- */

static const struct {
	const char *exception;
	enum fault_kind kind;
	const char *sentence; /* NULL: HDFS's own text is used */
	/* clang-format off */
} exceptions[] = {
	{ "AccessControlException", FAULT_PERMISSION, NULL },
	{ "InvalidToken", FAULT_CREDENTIALS, "the delegation token is not valid" },
	{ "SecurityException", FAULT_CREDENTIALS, NULL },
	{ "AuthenticationException", FAULT_CREDENTIALS, NULL },
	{ "SafeModeException", FAULT_SERVER, "HDFS is in safe mode" },
	{ "RetriableException", FAULT_SERVER, "the NameNode is starting" },
	{ "StandbyException", FAULT_SERVER, "this NameNode is on standby" },
	{ "ServerTooBusyException", FAULT_SERVER, "HDFS is too busy" },
	{ "AlreadyBeingCreatedException", FAULT_SERVER, "HDFS has not yet given up the last try" },
	{ "RecoveryInProgressException", FAULT_SERVER, "HDFS has not yet given up the last try" },
	{ "NSQuotaExceededException", FAULT_NO_SPACE, "the quota of names is used up" },
	{ "DSQuotaExceededException", FAULT_NO_SPACE, "the quota of space is used up" },
	{ "QuotaByStorageTypeExceededException", FAULT_NO_SPACE, "the quota of space is used up" },
	{ "ClusterStorageCapacityExceededException", FAULT_NO_SPACE, "HDFS is full" },
	{ "QuotaExceededException", FAULT_NO_SPACE, "the quota is used up" },
	{ "ParentNotDirectoryException", FAULT_OCCUPIED, "a file is where a directory should be" },
	{ "FileAlreadyExistsException", FAULT_OCCUPIED, "something else has the name of a directory or file" },
	{ "PathIsNotEmptyDirectoryException", FAULT_OCCUPIED, "a directory has the name of a file" },
	{ "FSLimitException", FAULT_OCCUPIED, NULL },
	{ "PathComponentTooLongException", FAULT_OCCUPIED, NULL },
	{ "MaxDirectoryItemsExceededException", FAULT_NO_SPACE, "the directory has as many files as HDFS allows" },
};
/* clang-format on */

/*
 * A message has "is expired" only after all that is known of a token: its owner, renewer and dates.
 */
struct exception {
	char name[64], message[1024];
};

/* Takes the first line. */
static void webhdfs_answer_take_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

static void read_exception(const struct http_answer *answer, struct exception *e)
{
	_cleanup_json_ cJSON *json = NULL;

	*e = (struct exception){ 0 };
	if (http_json_parse(strbuf_str(&answer->body), answer->body.len, &json, NULL) < 0)
		return;
	webhdfs_answer_take_text(e->name, sizeof(e->name),
				 json_str(json, "RemoteException.exception"));
	webhdfs_answer_take_text(e->message, sizeof(e->message),
				 json_str(json, "RemoteException.message"));
}

void webhdfs_exception(const struct http_answer *answer, char name[static 64])
{
	struct exception e;

	read_exception(answer, &e);
	memcpy(name, e.name, sizeof(e.name));
}

/* Recognizes faults that only the message shows. */
static bool by_message(const struct exception *e, struct fault *fault)
{
	if (strstr(e->message, "token") && strstr(e->message, "expired"))
		fault_set(fault, FAULT_EXPIRED, "the delegation token has expired");
	else if (strstr(e->message, "token") && strstr(e->message, "found in cache"))
		fault_set(fault, FAULT_EXPIRED,
			  "the delegation token is not known, or has expired");
	else if (strstr(e->message, "could only be written to") ||
		 strstr(e->message, "could only be replicated to"))
		fault_set(fault, FAULT_NO_SPACE, "no DataNode has room, or none is there");
	else if (strstr(e->message, "(is not a directory)"))
		fault_set(fault, FAULT_OCCUPIED, "a file is where a directory should be");
	else
		return false;
	return true;
}

/* Returns how much of a location may be shown: path and query may contain a delegation token. */
static int webhdfs_answer_shown(const char *location)
{
	return MIN(http_origin_length(location), 100);
}

static void webhdfs_answer_by_status(const struct http_answer *a, const struct exception *e,
				     struct fault *fault)
{
	const char *location = *a->location ? a->location : "nowhere";

	if (a->status == 401)
		fault_set(
			fault, FAULT_CREDENTIALS,
			"it wants proof of who we are: the credentials need a keytab or a delegation-token");
	else if (a->status >= 300 && a->status < 400)
		fault_set(fault, FAULT_REDIRECT, "it redirects to %.*s, which is not followed",
			  webhdfs_answer_shown(location), location);
	else if (*e->name)
		fault_set(fault,
			  a->status >= 500 || a->status == 403 ? FAULT_SERVER : FAULT_PROTOCOL,
			  "%s: %s", e->name, e->message);
	else if (a->status >= 500 || a->status == 429 || a->status == 408)
		fault_set(fault, FAULT_SERVER, "status %d", a->status);
	else
		fault_set(
			fault, FAULT_PROTOCOL,
			"status %d, and no answer as WebHDFS has it: is it a NameNode's HTTP address?",
			a->status);
}

int webhdfs_fault(const struct http_answer *answer, const char *host, struct fault *fault)
{
	struct exception e;
	size_t i = 0;

	read_exception(answer, &e);
	while (i < ARRAY_SIZE(exceptions) && strcmp(e.name, exceptions[i].exception) != 0)
		i++;
	if (by_message(&e, fault))
		;
	else if (i < ARRAY_SIZE(exceptions))
		fault_set(fault, exceptions[i].kind, "%s",
			  exceptions[i].sentence ? exceptions[i].sentence : e.message);
	else
		webhdfs_answer_by_status(answer, &e, fault);
	if (answer->retry_after_s > 0)
		fault->retry_after_s = answer->retry_after_s;
	return fault_wrap(fault, "HDFS at %s", host);
}

bool webhdfs_token_refused(const struct http_answer *answer)
{
	struct fault fault = { 0 };
	struct exception e;

	if (answer->status != 401 && answer->status != 403)
		return false;
	read_exception(answer, &e);
	return strcmp(e.name, "InvalidToken") == 0 ||
	       (by_message(&e, &fault) && fault.kind == FAULT_EXPIRED);
}

/*
 * Kerberos allows 300 s between the clocks of sender and receiver. The Date of an answer has whole
 * seconds, and the answer takes a moment.
 */
#define CLOCK_OFF_MAX_S 290

int webhdfs_ticket_fault(const struct http_answer *answer, const char *host, const char *principal,
			 struct fault *fault)
{
	int64_t off = answer->clock_off_s < 0 ? -answer->clock_off_s : answer->clock_off_s;
	struct exception e;

	read_exception(answer, &e);
	if (*e.name || (answer->status != 401 && answer->status != 403))
		return webhdfs_fault(answer, host, fault);
	if (off > CLOCK_OFF_MAX_S)
		return fault_set(
			fault, FAULT_CLOCK,
			"HDFS at %s: the clock of this machine and that of HDFS differ by %lld s: set them right",
			host, (long long)off);
	return fault_set(
		fault, FAULT_CREDENTIALS,
		"HDFS at %s does not accept the Kerberos ticket of %s: its log says why (its keytab, its clock, or "
		"hadoop.security.auth_to_local)",
		host, principal);
}

/* --- Values --- */

int webhdfs_read_token(const struct http_answer *answer, char **ret_token, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;

	if (http_json_parse(strbuf_str(&answer->body), answer->body.len, &json, err) < 0)
		return -EINVAL;
	const char *token = json_str(json, "Token.urlString");
	if (!token || !credential_is_word(token) || strlen(token) > CREDENTIAL_MAX)
		return err_set(err, EINVAL,
			       "it gives no delegation token: is it an HDFS with Kerberos?");
	*ret_token = strdup(token);
	return *ret_token ? 0 : err_set(err, ENOMEM, "delegation token");
}

int webhdfs_read_status(const struct http_answer *answer, struct webhdfs_status *ret_status,
			struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;

	if (http_json_parse(strbuf_str(&answer->body), answer->body.len, &json, err) < 0)
		return -EINVAL;
	const char *type = json_str(json, "FileStatus.type");
	int64_t length = json_int(json, "FileStatus.length", -1);
	if (!type || length < 0)
		return err_set(err, EINVAL, "no FileStatus");
	*ret_status =
		(struct webhdfs_status){ .is_file = strcmp(type, "FILE") == 0, .length = length };
	return 0;
}

/*
 * Parses {"XAttrs":[{"name":"user.afterglow.sha256","value":"\"...\""}]}. Because we ask for text,
 * HDFS puts the value in quotes.
 */
void webhdfs_read_digest(const struct http_answer *answer, char ret_digest[static SHA256_TEXT_MAX])
{
	_cleanup_json_ cJSON *json = NULL;

	ret_digest[0] = '\0';
	if (http_json_parse(strbuf_str(&answer->body), answer->body.len, &json, NULL) < 0)
		return;
	const char *value = json_str(cJSON_GetArrayItem(json_get(json, "XAttrs"), 0), "value");
	if (value && value[0] == '"' && strlen(value) == SHA256_TEXT_MAX + 1)
		snprintf(ret_digest, SHA256_TEXT_MAX, "%s", value + 1);
}

bool webhdfs_refused(const struct http_answer *answer)
{
	_cleanup_json_ cJSON *json = NULL;

	return http_json_parse(strbuf_str(&answer->body), answer->body.len, &json, NULL) == 0 &&
	       !json_bool(json, "boolean", true);
}

int webhdfs_check_location(const char *location, const char *operation, bool tls,
			   struct fault *fault)
{
	const char *scheme = tls ? "https://" : "http://";

	/* A redirect from plain HTTP to TLS is allowed. */
	if (!tls && strncmp(location, "https://", 8) == 0)
		scheme = "https://";
	if (strncmp(location, scheme, strlen(scheme)) != 0)
		return fault_set(fault, FAULT_REDIRECT,
				 "the NameNode sends the data to %.*s, which is %s",
				 *location ? webhdfs_answer_shown(location) : 7,
				 *location ? location : "nowhere",
				 tls ? "not https" : "neither http nor https");
	const char *path = strchr(location + strlen(scheme), '/');
	if (!path || strncmp(path, WEBHDFS_PREFIX, strlen(WEBHDFS_PREFIX)) != 0 ||
	    memchr(location, '@', (size_t)(path - location)) || !strstr(path, operation))
		return fault_set(fault, FAULT_REDIRECT,
				 "the NameNode sends the data to %.*s, which is not WebHDFS",
				 webhdfs_answer_shown(location), location);
	return 0;
}
