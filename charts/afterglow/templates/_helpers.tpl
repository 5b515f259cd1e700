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

{{/* The same for the Job that upgrades CRDs and what it needs, and the annotations that make them a hook of that weight. */}}
{{- define "afterglow.crdsLabels" -}}
app.kubernetes.io/name: afterglow-crds
app.kubernetes.io/instance: {{ .Release.Name }}
{{ include "afterglow.moreLabels" . }}
{{- end -}}

{{- define "afterglow.crdsHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
# A Job that failed stays, for a look at its log.
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
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
The owner of an installed CRD that is not this release's: "release NAME in namespace NAMESPACE", or "somebody else".
Nothing otherwise, and nothing where Helm cannot look (helm template).
*/}}
{{- define "afterglow.foreignCRD" -}}
{{- $annotations := dig "metadata" "annotations" dict .present -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and .present (not (and (eq $release .root.Release.Name) (eq $namespace .root.Release.Namespace))) -}}
{{- if $release -}}release {{ $release }} in namespace {{ $namespace }}{{- else -}}somebody else{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The three numbers at the start of a version. A text that does not start with them counts as 0.0.0. operator/crds/crd_plan.c
reads versions by the same rule.
*/}}
{{- define "afterglow.versionNumbers" -}}
{{- regexFind `^(0|[1-9][0-9]{0,8})[.](0|[1-9][0-9]{0,8})[.](0|[1-9][0-9]{0,8})\b` . | default "0.0.0" -}}
{{- end -}}

{{/*
The version of an installed CRD that a newer chart of Afterglow wrote, or nothing. operator/crds/crd_plan.c compares in the
same way.
*/}}
{{- define "afterglow.newerCRD" -}}
{{- $labels := dig "metadata" "labels" dict .present -}}
{{- $version := include "afterglow.versionNumbers" (get $labels "app.kubernetes.io/version" | toString) -}}
{{- $own := include "afterglow.versionNumbers" (.root.Chart.AppVersion | toString) -}}
{{- if hasPrefix "afterglow-" (get $labels "helm.sh/chart" | toString) -}}
{{- if (semver $version).GreaterThan (semver $own) -}}{{ $version }}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
What this release does with the CRDs of files/crds, as JSON: own (NAME: CRD) are its own objects, upgraded (NAME: CRD) are
another release's, which a Job upgrades, and notes (NAME: SENTENCE) is what NOTES.txt says. A CRD that is not from this
chart, such as KubeRay's, is left alone. Without a cluster to look at (helm template, Argo CD) all are its own.
*/}}
{{- define "afterglow.crds" -}}
{{- $root := . -}}
{{- $own := dict -}}
{{- $upgraded := dict -}}
{{- $notes := dict -}}
{{- range $path, $bytes := .Files.Glob "files/crds/*.yaml" -}}
{{- range $text := regexSplit "(?m)^---.*$" ($root.Files.Get $path) -1 -}}
{{- $crd := fromYaml $text -}}
{{- if $crd.Error -}}
{{- fail (printf "%s: %s" $path $crd.Error) -}}
{{- end -}}
{{- if and $crd $root.Values.crds.install (or $root.Values.manageRayClusters (ne $crd.spec.group "ray.io")) -}}
{{- $name := $crd.metadata.name -}}
{{- $present := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- $owner := include "afterglow.foreignCRD" (dict "present" $present "root" $root) -}}
{{- $newer := include "afterglow.newerCRD" (dict "present" $present "root" $root) -}}
{{- $digest := $crd.spec | toJson | sha256sum -}}
{{- $annotations := merge (dict "afterglow.dev/spec-sha256" $digest) ($crd.metadata.annotations | default dict) -}}
{{- if $root.Values.crds.keep -}}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" -}}
{{- end -}}
{{- $_ := set $crd.metadata "annotations" $annotations -}}
{{- $_ := set $crd.metadata "labels" (merge (include "afterglow.labels" $root | fromYaml) ($crd.metadata.labels | default dict)) -}}
{{- $chart := dig "metadata" "labels" "helm.sh/chart" "" $present -}}
{{- if and (not $owner) $newer -}}
{{- /* An older chart must not take fields away that other releases use. What is left out here, Helm would delete. */ -}}
{{- $_ := set $crd "spec" $present.spec -}}
{{- $_ := set $crd.metadata.annotations "afterglow.dev/spec-sha256" (dig "metadata" "annotations" "afterglow.dev/spec-sha256" "" $present) -}}
{{- $_ := set $crd.metadata.labels "app.kubernetes.io/version" (get $present.metadata.labels "app.kubernetes.io/version") -}}
{{- $_ := set $crd.metadata.labels "helm.sh/chart" $chart -}}
{{- $_ := set $own $name $crd -}}
{{- $_ := set $notes $name (printf "is of version %s, which is newer than this chart, and stays as it is." $newer) -}}
{{- else if not $owner -}}
{{- $_ := set $own $name $crd -}}
{{- else if $newer -}}
{{- $_ := set $notes $name (printf "belongs to %s and is of version %s, which is newer than this chart: this release neither upgrades nor removes it." $owner $newer) -}}
{{- else if or (not (hasPrefix "afterglow-" $chart)) (eq $owner "somebody else") (not $root.Values.crds.upgrade) -}}
{{- $_ := set $notes $name (printf "belongs to %s: this release neither upgrades nor removes it." $owner) -}}
{{- /* The owner's chart may have put the versions of an older spec back, and leaves the digest, which it does not know. */ -}}
{{- else if and (eq $digest (dig "metadata" "annotations" "afterglow.dev/spec-sha256" "" $present)) (eq (toJson $crd.spec.versions) (toJson $present.spec.versions)) -}}
{{- $_ := set $notes $name (printf "belongs to %s and is up to date. This release does not remove it." $owner) -}}
{{- else -}}
{{- $_ := set $upgraded $name $crd -}}
{{- $_ := set $notes $name (printf "belongs to %s. A Job of this release upgrades it before anything else is installed; with --no-hooks it stays as it is. This release does not remove it." $owner) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "own" $own "upgraded" $upgraded "notes" $notes | toJson -}}
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

{{/*
Values that this chart had once. Left at their defaults, as --reuse-values brings them along, they do no harm.
*/}}
{{- define "afterglow.refuseFormer" -}}
{{- if (.Values.otlp).endpoint -}}
{{- fail "otlp.endpoint is set, and the operator exports nothing any more: let the collector watch RayFailures by its receiver k8sobjects (docs/export.md), and remove otlp from the values (--set otlp=null)" -}}
{{- end -}}
{{- if .Values.qps -}}
{{- fail "qps is set, and the operator does not limit its requests any more, as the API server does so by priority and fairness: remove qps and burst from the values (--set qps=null,burst=null)" -}}
{{- end -}}
{{- end -}}
