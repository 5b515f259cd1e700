{{/*
The keys of the store. Those of another kind of store than type are left out: a value may stay where it is not used. int64:
Helm reads numbers of values files as floats, and would print a million as 1e+06.
*/}}
{{- define "afterglow.store" }}
{{- if eq .type "claim" }}
storeClaim: {{ .claim | quote }}
storeKeepDays: {{ int64 .keep.days }}
storeKeepBundles: {{ int64 .keep.bundles }}
storeKeepMax: {{ kindIs "string" .keep.max | ternary .keep.max (int64 .keep.max) | quote }}
{{- else }}
{{- if eq .type "s3" }}
storeURL: {{ printf "s3://%s/%s" (required "store.s3.bucket is missing: store.type is s3" .s3.bucket) (trimPrefix "/" .s3.prefix) | trimSuffix "/" | quote }}
storeS3Endpoint: {{ .s3.endpoint | quote }}
storeS3Region: {{ .s3.region | quote }}
storeS3PathStyle: {{ .s3.pathStyle }}
{{- with .s3.serverSideEncryption }}
{{- if and (or .kmsKeyID .bucketKey) (not (hasPrefix "aws:kms" .type)) }}{{ fail "store.s3.serverSideEncryption has kmsKeyID or bucketKey, so its type must be aws:kms or aws:kms:dsse" }}{{ end }}
storeS3Encryption: {{ .type | default "" | quote }}
storeS3KMSKeyID: {{ .kmsKeyID | default "" | quote }}
storeS3BucketKey: {{ .bucketKey | default false }}
{{- end }}
{{- with .s3.webIdentity }}
{{- if .roleARN }}
{{- if $.credentialsSecret }}{{ fail "store.s3.webIdentity.roleARN and store.credentialsSecret are both given: one of them lets the sidecar in" }}{{ end }}
storeS3RoleARN: {{ .roleARN | quote }}
storeS3STSEndpoint: {{ .stsEndpoint | quote }}
storeS3TokenAudience: {{ .audience | quote }}
storeS3TokenExpiry: {{ int64 .expirySeconds }}
{{- end }}
{{- end }}
{{- else if eq .type "azure" }}
{{- $account := required "store.azure.account is missing: store.type is azure" .azure.account }}
{{- $container := required "store.azure.container is missing: store.type is azure" .azure.container }}
storeURL: {{ printf "azure://%s/%s/%s" $account $container (trimPrefix "/" .azure.prefix) | trimSuffix "/" | quote }}
storeAzureEndpoint: {{ .azure.endpoint | quote }}
{{- else }}
storeURL: {{ required "store.webhdfs.url is missing: store.type is webhdfs" .webhdfs.url | quote }}
storeWebHDFSUser: {{ .webhdfs.user | quote }}
{{- end }}
storeCoresPrefix: {{ .coresPrefix | default "" | quote }}
storeCredentialsSecret: {{ .credentialsSecret | quote }}
storeCASecret: {{ .caSecret | quote }}
{{- with .proxy }}
{{- if and .noProxy (not .url) }}{{ fail "store.proxy.url must be given: store.proxy.noProxy is" }}{{ end }}
storeProxy: {{ .url | default "" | quote }}
storeNoProxy: {{ .noProxy | default "" | quote }}
{{- end }}
{{- end }}
spoolMax: {{ .spoolMax | quote }}
{{- end -}}
{{/* Of memory.mode and memory.budgets, what holds beside KubeRay (policy_memory_modes). Off without quotes is false in YAML. */}}
{{- define "afterglow.memoryModes" -}}
{{- $mode := kindIs "bool" .Values.memory.mode | ternary "Off" .Values.memory.mode | default "" }}
{{- $budgets := kindIs "bool" .Values.memory.budgets | ternary "Off" .Values.memory.budgets | default $mode | default "Warn" }}
{{- $settings := $mode | default "Apply" }}
{{- if or (eq $settings "Off") (and (eq $settings "Warn") (eq $budgets "Apply")) }}{{ $budgets = $settings }}{{ end }}
{{- dict "settings" $settings "budgets" $budgets | toJson }}
{{- end -}}
{{/* The operator's --config. Keys that are absent have the operator's own default. */}}
{{- define "afterglow.config" -}}
{{- if .Values.sidecar.enabled }}
sidecarImage: {{ include "afterglow.image" (dict "image" .Values.sidecar.image "root" .) | quote }}
sidecarImagePullPolicy: {{ .Values.sidecar.image.pullPolicy | quote }}
{{- with .Values.sidecar.resources }}
sidecarResources: {{ toJson . }}
{{- end }}
{{- $secrets := list }}
{{- range .Values.sidecar.imagePullSecrets }}{{ $secrets = append $secrets .name }}{{ end }}
sidecarImagePullSecrets: {{ toJson $secrets }}
{{- end }}
{{- include "afterglow.store" .Values.store }}
clusterDomain: {{ .Values.clusterDomain | quote }}
redisCleanup: {{ .Values.redisCleanup }}
loginShell: {{ .Values.loginShell }}
warnAt: {{ .Values.sidecar.warnAt }}
oomGroup: {{ .Values.sidecar.oomGroup }}
kernelLog: {{ .Values.recording.kernelLog.enabled }}
{{- with .Values.recording.syslog.path }}
syslog: {{ . | quote }}
{{- end }}
{{- with .Values.recording.syslog.group }}
syslogGroup: {{ int64 . }}
{{- end }}
coreDumps: {{ .Values.recording.coreDumps | toString | replace "false" "Off" | quote }}
coreDumpLimit: {{ .Values.recording.coreDumpLimit | quote }}
hooks: {{ .Values.recording.hooks | toJson }}
holdOnFailure: {{ int64 .Values.recording.holdOnFailure }}
stacksAtStop: {{ .Values.recording.stacksAtStop }}
stacksAtThreshold: {{ .Values.recording.stacksAtThreshold }}
stacksAtWait: {{ int64 .Values.recording.stacksAtWait }}
{{- with .Values.memory }}
memoryMode: {{ kindIs "bool" .mode | ternary "Off" .mode | default "" | quote }}
memoryBudgets: {{ kindIs "bool" .budgets | ternary "Off" .budgets | default "" | quote }}
headNumCPUs: {{ .headNumCPUs | toJson }}
workerMemoryLimit: {{ .workerMemoryLimit | quote }}
rayMemoryFraction: {{ .rayMemoryFraction }}
objectStoreFraction: {{ .objectStoreFraction }}
headroom: {{ .headroom | quote }}
usageThreshold: {{ .usageThreshold | toJson | trimAll "\"" }}
monitorRefreshMs: {{ .monitorRefreshMs | toJson }}
{{- end }}
{{- end -}}
