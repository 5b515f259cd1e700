/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node agent saw of the signals that ended a container or one of its processes: who sent them. Pure. Without an agent there are
 * no records, and the verdict is the one without them.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_SENDER_H
#define AFTERGLOW_SIDECAR_VERDICT_SENDER_H

#include "sidecar/verdict/classify.h"
#include "sidecar/verdict/oom_verdict.h"

#define SENDER_TEXT_MAX 160

/* "kubelet (PID 812) on the node", "python3 (PID 12) in container ray-head", "itself". */
const char *sender_describe(const struct node_signal *s, const char *container, char text[static SENDER_TEXT_MAX]);

/* Whether the OOM killer took the process whose end is the container's. */
bool sender_oom_took_command(const struct observation *o);
/* Whether somebody sent that process the SIGKILL that ended it. */
bool sender_killed_command(const struct observation *o);
/* The OOM killer took so many other processes of the container around its end. */
unsigned int sender_oom_others(const struct observation *o);
/* That it took the command, or somebody else sent the SIGKILL, decides whatever the counters leave open. */
enum oom sender_oom(const struct observation *o, enum oom oom, struct verdict *v);

/* Of a finished verdict: names the sender, as evidence and in the sentence. */
void sender_verdict(const struct observation *o, struct verdict *v);

#endif
