{{/*
What both webhooks have in common, of (dict "path" ... "root" $). Ignore is no value: a webhook that is down must not keep
Ray from starting. IfNeeded: it is asked again when another webhook has changed the object after it.
*/}}
{{- define "afterglow.webhookCall" -}}
{{- $root := .root -}}
{{- $selector := $root.Values.webhook.namespaceSelector -}}
clientConfig:
  service:
    name: {{ include "afterglow.name" $root }}-webhook
    namespace: {{ $root.Release.Namespace }}
    path: {{ .path }}
    port: 443
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: Ignore
timeoutSeconds: {{ int64 $root.Values.webhook.timeoutSeconds }}
reinvocationPolicy: IfNeeded
matchPolicy: Equivalent
namespaceSelector:
  {{- with $selector.matchLabels }}
  matchLabels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  matchExpressions:
    - key: kubernetes.io/metadata.name
      {{- if $root.Values.watchNamespace }}
      operator: In
      values: [{{ $root.Values.watchNamespace | quote }}]
      {{- else }}
      operator: NotIn
      values: [kube-system, kube-public, kube-node-lease, {{ $root.Release.Namespace | quote }}]
      {{- end }}
    - key: afterglow.dev/inject
      operator: NotIn
      values: ["false", disabled]
    {{- with $selector.matchExpressions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
