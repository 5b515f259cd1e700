/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the answers of EKS Pod Identity's agent, of Google's metadata server and of Microsoft
 * Entra.
 */
#include "sidecar/ship/token_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "sidecar/ship/credentials.h"

#define HOST_MAX 64
#define DAY_S 86400

/*
 * Takes the host of "SCHEME://HOST[:PORT][/...]", with the brackets of an IPv6 address. Returns
 * false if it is too long or has a user.
 */
static bool token_answer_host_of(const char *url, const char *scheme, char host[static HOST_MAX])
{
	size_t skip = strlen(scheme), len, name;

	if (strncmp(url, scheme, skip) != 0)
		return false;
	url += skip;
	len = strcspn(url, "/?#");
	name = *url == '[' ? strcspn(url, "]") + 1 : strcspn(url, ":/?#");
	if (name == 0 || name > len || name >= HOST_MAX || memchr(url, '@', len) ||
	    memchr(url, '\\', len) || (url[name] && !strchr(":/?#", url[name])))
		return false;
	memcpy(host, url, name);
	host[name] = '\0';
	return true;
}

bool container_uri_is_safe(const char *uri)
{
	static const char *const hosts[] = {
		"169.254.170.23", "[fd00:ec2::23]", /* EKS */
		"169.254.170.2", /* ECS */
		"127.0.0.1",	  "[::1]",	    "localhost",
	};
	char host[HOST_MAX];

	if (strlen(uri) > 512 || strpbrk(uri, " \t\r\n"))
		return false;
	if (token_answer_host_of(uri, "https://", host))
		return true;
	for (size_t i = 0; token_answer_host_of(uri, "http://", host) && i < ARRAY_SIZE(hosts); i++)
		if (strcmp(host, hosts[i]) == 0)
			return true;
	return false;
}

bool endpoint_is_google(const char *endpoint)
{
	char host[HOST_MAX];

	return endpoint && token_answer_host_of(endpoint, "https://", host) &&
	       strcmp(host, "storage.googleapis.com") == 0;
}

static char *token_answer_take_word(const cJSON *object, const char *name)
{
	const char *text = json_str(object, name);

	return text && credential_is_word(text) && strlen(text) < CREDENTIAL_MAX ? strdup(text) :
										   NULL;
}

/* Overwrites the texts, because cJSON frees them and leaves their content in memory. */
static void token_answer_wipe(cJSON *object)
{
	for (cJSON *member = object ? object->child : NULL; member; member = member->next)
		if (cJSON_IsString(member))
			explicit_bzero(member->valuestring, strlen(member->valuestring));
	cJSON_Delete(object);
}

int container_read_credentials(const char *json, size_t len,
			       struct sts_credentials *ret_credentials, struct err *err)
{
	struct sts_credentials c;
	cJSON *object;
	int r = http_json_parse(json, len, &object, err);

	if (r < 0)
		return r;
	c = (struct sts_credentials){
		.access_key_id = token_answer_take_word(object, "AccessKeyId"),
		.secret_access_key = token_answer_take_word(object, "SecretAccessKey"),
		.session_token = token_answer_take_word(object, "Token"),
	};
	token_answer_wipe(object);
	if (!c.access_key_id || !c.secret_access_key || !c.session_token) {
		sts_credentials_release(&c);
		return err_set(err, EBADMSG, "it has no AccessKeyId, SecretAccessKey and Token");
	}
	*ret_credentials = c;
	return 0;
}

int oauth_read_token(const char *json, size_t len, char **ret_token, int64_t *ret_seconds,
		     struct err *err)
{
	cJSON *object;
	int r = http_json_parse(json, len, &object, err);

	if (r < 0)
		return r;
	int64_t seconds = json_int(object, "expires_in", 0);
	_cleanup_credential_ char *token = token_answer_take_word(object, "access_token");
	token_answer_wipe(object);
	if (!token || seconds < 1 || seconds > 366 * DAY_S)
		return err_set(err, EBADMSG,
			       "it has no access_token with a time for which it lasts");
	*ret_token = TAKE_PTR(token);
	*ret_seconds = MIN(seconds, DAY_S);
	return 0;
}

/* The description continues on further lines with ids and times, which are left out. */
void oauth_read_error(const char *json, size_t len, char ret_text[static OAUTH_ERROR_MAX])
{
	cJSON *object;

	ret_text[0] = '\0';
	if (http_json_parse(json, len, &object, NULL) < 0)
		return;
	const char *error = json_str(object, "error");
	const char *why = json_str(object, "error_description");
	if (error)
		snprintf(ret_text, OAUTH_ERROR_MAX, "%s%s%.*s", error, why ? ": " : "",
			 why ? (int)strcspn(why, "\r\n") : 0, why ? why : "");
	cJSON_Delete(object);
}
