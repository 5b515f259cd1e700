/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses JSON text of Kubernetes objects with libzstd and a dictionary. */
#include "operator/kube/squeeze.h"

#include <stdlib.h>
#include <zstd.h>

#include "lib/macros.h"

#define LEVEL 3

/*
 * Parts that most Ray pods have in common: those of this operator, of KubeRay and of the kubelet.
 * What most have stands last. ' stands for ".
 */
static const char parts[] =
	"'Succeeded','Failed','Pending','reason':'OOMKilled','exitCode':137,'terminated':{"
	"'waiting':{'reason':'CrashLoopBackOff','reason':'Error','startedAt':'2026-',"
	"'finishedAt':'2026-','signal':'status':'False','reason':'ContainersNotReady',"
	"'message':'ray.io/node-type':'head','restartPolicy':'Never','initContainers':[{"
	"'name':'wait-gcs-ready','hostIP':'nodeName':'PodReadyToStartContainers',"
	"'status':'True'},{'type':'{'metadata':{'name':'','namespace':','uid':'',"
	"'resourceVersion':','creationTimestamp':'2026-','labels':{"
	"'app.kubernetes.io/created-by':'kuberay-operator','app.kubernetes.io/name':'kuberay',"
	"'ray.io/cluster':'','ray.io/group':'small','ray.io/identifier':'-worker',"
	"'ray.io/is-ray-node':'yes','ray.io/node-type':'worker',"
	"'ray.io/worker-group-replica-index':'},'annotations':{"
	"'afterglow.dev/recreate-hash':'v1-','ray.io/kuberay-version':'afterglow'},"
	"'ownerReferences':[{'apiVersion':'ray.io/v1','kind':'RayCluster','name':'','uid':'',"
	"'controller':true,'blockOwnerDeletion':true}]},'spec':{'volumes':[{},{'configMap':{"
	"'items':[{'key':'launch-x86_64-'}]}},{},{},{}],'containers':[{'name':'ray-worker',"
	"'ports':[{'name':'metrics','containerPort':8080,'protocol':'TCP'}],'resources':{"
	"'limits':{'cpu':'1','memory':'2Gi'},'requests':{'cpu':'1','memory':'2Gi'}}},{"
	"'name':'afterglow','ports':[{'name':'afterglow-http','containerPort':9095,"
	"'protocol':'TCP'}],'resources':{'limits':{'cpu':'100m','memory':'256Mi'},'requests':{"
	"'cpu':'100m','memory':'256Mi'}}}],'restartPolicy':'Always',"
	"'terminationGracePeriodSeconds':30,'nodeName':''},'status':{'phase':'Running',"
	"'conditions':[{'type':'Initialized','status':'True'},{'type':'Ready','status':'True'},{"
	"'type':'ContainersReady','status':'True'},{'type':'PodScheduled','status':'True'}],"
	"'podIP':'10.','startTime':'2026-','containerStatuses':[{'name':'ray-worker','state':{"
	"'running':{'startedAt':'2026-'}},'lastState':{},'ready':true,'restartCount':0,"
	"'containerID':'containerd://','started':true},{'name':'afterglow','state':{'running':{"
	"'startedAt':'2026-'}},'lastState':{},'ready':true,'restartCount':0,"
	"'containerID':'containerd://','started':true}]},'apiVersion':'v1','kind':'Pod'}";

/* Made once, and kept. */
static ZSTD_CCtx *encoder;
static ZSTD_CDict *to_encode;
static ZSTD_DCtx *decoder;
static ZSTD_DDict *to_decode;

static bool squeeze_is_ready(void)
{
	char dictionary[sizeof(parts) - 1];

	if (encoder && to_encode && decoder && to_decode)
		return true;
	for (size_t i = 0; i < sizeof(dictionary); i++)
		dictionary[i] = (char)(parts[i] == '\'' ? '"' : parts[i]);
	encoder = encoder ? encoder : ZSTD_createCCtx();
	to_encode = to_encode ? to_encode : ZSTD_createCDict(dictionary, sizeof(dictionary), LEVEL);
	decoder = decoder ? decoder : ZSTD_createDCtx();
	to_decode = to_decode ? to_decode : ZSTD_createDDict(dictionary, sizeof(dictionary));
	return encoder && to_encode && decoder && to_decode;
}

char *squeeze(const char *text, size_t len, size_t *ret_len)
{
	size_t max = ZSTD_compressBound(len);
	_cleanup_free_ char *data = squeeze_is_ready() ? malloc(max) : NULL;

	if (!data)
		return NULL;
	*ret_len = ZSTD_compress_usingCDict(encoder, data, max, text, len, to_encode);
	return ZSTD_isError(*ret_len) ? NULL : TAKE_PTR(data);
}

char *unsqueeze(const char *data, size_t len, size_t *ret_len)
{
	unsigned long long size = ZSTD_getFrameContentSize(data, len);
	bool known = size < ZSTD_CONTENTSIZE_ERROR && squeeze_is_ready();
	_cleanup_free_ char *text = known ? malloc((size_t)size + 1) : NULL;

	if (!text)
		return NULL;
	*ret_len = ZSTD_decompress_usingDDict(decoder, text, (size_t)size, data, len, to_decode);
	return ZSTD_isError(*ret_len) ? NULL : TAKE_PTR(text);
}
