/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters as their specs say: watches, and for each cluster that something
 * happened to, makes a plan (raycluster/plan.h) and carries it out. Level-triggered: an
 * event only says which cluster to look at.
 */
#pragma once

#include "lib/strbuf.h"
#include "operator/manager/manager_options.h"

struct manager;

/* The objects that options point to must outlive the manager. */
int manager_new(const struct manager_options *options, struct manager **ret_manager,
		struct err *err);
void manager_free(struct manager *manager);

void manager_start(struct manager *manager);
/*
 * Call this when is_leader has become true. Everything is watched before that, so nothing has to
 * be read now.
 */
void manager_begin(struct manager *manager);
/* Starts no new work; on_idle is called once, when the last write has been answered. */
void manager_stop(struct manager *manager, void (*on_idle)(void *arg), void *arg);

/*
 * Call this after manager_stop: serves the webhook for some more seconds, because the API server
 * may still send reviews here. on_closed is called once, when the last review is answered; at once
 * if there is no webhook.
 */
void manager_close(struct manager *manager, void (*on_closed)(void *arg), void *arg);

/* Returns whether all kinds are synced; appends a line per kind. */
bool manager_ready(void *manager, struct strbuf *out);
/* Appends the metrics, gauges refreshed. */
void manager_metrics(void *manager, struct strbuf *out);
