{{/* The name of all objects: the release's, with "afterglow" in it, unless values give another. */}}
{{- define "afterglow.name" -}}
{{- $name := .Values.nameOverride | default "afterglow" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The same for what lies in no namespace: releases of one name may each watch a namespace of their own. */}}
{{- define "afterglow.clusterName" -}}
{{- include "afterglow.name" . }}{{ with .Values.watchNamespace }}-{{ . }}{{ end }}
{{- end -}}

{{- define "afterglow.selectorLabels" -}}
app.kubernetes.io/name: afterglow
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The pod of `helm test` is none of the operator's: Services and the PodDisruptionBudget must not choose it. */}}
{{- define "afterglow.testLabels" -}}
app.kubernetes.io/name: afterglow-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of an object that is not a pod of the operator, and of them: the chart's own, then commonLabels. */}}
{{- define "afterglow.moreLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with omit .Values.commonLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "afterglow.labels" -}}
{{ include "afterglow.selectorLabels" . }}
{{ include "afterglow.moreLabels" . }}
{{- end -}}

{{- define "afterglow.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "afterglow.name" .) -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* "true" if the webhook serves. An operator that makes the pods of RayClusters itself needs none. */}}
{{- define "afterglow.webhook" -}}
{{- if and .Values.webhook.enabled (not .Values.manageRayClusters) -}}true{{- end -}}
{{- end -}}

{{/* repository:tag, or repository@digest, of (dict "image" ... "root" $). */}}
{{- define "afterglow.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/*
Whose the CRD of that name is, when it is there and not this release's: "release NAME in namespace NAMESPACE", or
"somebody else". Nothing otherwise, and nothing where Helm cannot look (helm template).
*/}}
{{- define "afterglow.foreignCRD" -}}
{{- $present := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name -}}
{{- $annotations := dig "metadata" "annotations" dict $present -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and $present (not (and (eq $release .root.Release.Name) (eq $namespace .root.Release.Namespace))) -}}
{{- if $release -}}release {{ $release }} in namespace {{ $namespace }}{{- else -}}somebody else{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Two operators for one namespace would do everything twice. Who may install one for all of them may look for others.
*/}}
{{- define "afterglow.refuseSecond" -}}
{{- if not .Values.watchNamespace -}}
{{- $root := . -}}
{{- range (lookup "apps/v1" "Deployment" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $release := get $labels "app.kubernetes.io/instance" -}}
{{- $ours := and (eq .metadata.namespace $root.Release.Namespace) (eq $release $root.Release.Name) -}}
{{- if and (eq (get $labels "app.kubernetes.io/name") "afterglow") (hasSuffix "-operator" .metadata.name) (not $ours) -}}
{{- fail (printf "Afterglow is installed already, as release %s in namespace %s: upgrade that one, or give each release a watchNamespace of its own" $release .metadata.namespace) -}}
{{- end -}}
{{- if and $root.Values.manageRayClusters (contains "kuberay-operator" (printf "%s %s" .metadata.name (get $labels "app.kubernetes.io/name"))) -}}
{{- fail (printf "KubeRay runs in namespace %s (Deployment %s), and two operators would both make the pods of each RayCluster: leave manageRayClusters at false, or remove KubeRay first" .metadata.namespace .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
