/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the address of the API server. */
#include "operator/kube/endpoint.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/strbuf.h"

/*
 * Uses the name in the certificate: it stands in the URL, and the connection goes to the server's
 * address.
 */
static int rename_server(struct endpoint *endpoint, const struct kubeconfig *config, CURLU *url, const char *host, const char *port,
			 struct err *err)
{
	_cleanup_strbuf_ struct strbuf to = STRBUF_INIT(1024);
	char *text = NULL;

	strbuf_addf(&to, "%s:%s:%s:%s", config->tls_server_name, port, host, port);
	endpoint->connect_to = strbuf_detach(&to);
	if (!endpoint->connect_to || curl_url_set(url, CURLUPART_HOST, config->tls_server_name, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
		return err_set(err, EINVAL, "tls-server-name %s", config->tls_server_name);
	endpoint->url = strdup(text);
	curl_free(text);
	for (size_t len = endpoint->url ? strlen(endpoint->url) : 0; len > 0 && endpoint->url[len - 1] == '/'; len--)
		endpoint->url[len - 1] = '\0';
	return endpoint->url ? 0 : err_set(err, ENOMEM, "API client");
}

int endpoint_find(struct endpoint *endpoint, const struct kubeconfig *config, struct err *err)
{
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL;
	int r = 0;

	if (!url || curl_url_set(url, CURLUPART_URL, config->server, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK) {
		r = err_set(err, EINVAL, "%s: not the URL of an API server", config->server);
	} else {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1024);
		strbuf_addf(&text, "%s:%s", host, port);
		endpoint->host = strbuf_detach(&text);
		r = endpoint->host ? 0 : err_set(err, ENOMEM, "API client");
	}
	if (r == 0 && config->tls_server_name)
		r = rename_server(endpoint, config, url, host, port, err);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(url);
	return r;
}

void endpoint_release(struct endpoint *endpoint)
{
	free(endpoint->url);
	free(endpoint->connect_to);
	free(endpoint->host);
}
