{{/* The operator's --config. Keys that are absent have the operator's own default. */}}
{{- define "afterglow.config" -}}
{{- if .Values.sidecar.enabled }}
sidecarImage: {{ include "afterglow.image" (dict "image" .Values.sidecar.image "root" .) | quote }}
sidecarImagePullPolicy: {{ .Values.sidecar.image.pullPolicy | quote }}
{{- end }}
storeClaim: {{ .Values.store.claim | quote }}
clusterDomain: {{ .Values.clusterDomain | quote }}
warnAt: {{ .Values.sidecar.warnAt }}
oomGroup: {{ .Values.sidecar.oomGroup }}
kernelLog: {{ .Values.recording.kernelLog.enabled }}
coreDumps: {{ .Values.recording.coreDumps | toString | replace "false" "Off" | quote }}
hooks: {{ .Values.recording.hooks | toJson }}
holdOnFailure: {{ .Values.recording.holdOnFailure }}
{{- with .Values.memory }}
headNumCPUs: {{ .headNumCPUs | toJson }}
workerMemoryLimit: {{ .workerMemoryLimit | quote }}
rayMemoryFraction: {{ .rayMemoryFraction }}
objectStoreFraction: {{ .objectStoreFraction }}
headroom: {{ .headroom | quote }}
usageThreshold: {{ .usageThreshold | toJson }}
monitorRefreshMs: {{ .monitorRefreshMs | toJson }}
{{- end }}
{{- end -}}
