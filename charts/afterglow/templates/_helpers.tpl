{{/* The name of all objects: the release's, with "afterglow" in it. */}}
{{- define "afterglow.name" -}}
{{- if contains "afterglow" .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-afterglow" .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "afterglow.selectorLabels" -}}
app.kubernetes.io/name: afterglow
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "afterglow.labels" -}}
{{ include "afterglow.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "afterglow.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "afterglow.name" .) -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* repository:tag of (dict "image" ... "root" $). */}}
{{- define "afterglow.image" -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
