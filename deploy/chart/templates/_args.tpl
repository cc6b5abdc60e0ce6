{{/* The arguments of the controller: only what differs from its own defaults. */}}
{{- define "towline.args" -}}
- controller
{{- if not (include "towline.gitOpsCluster" .) }}
- --controllers=decisions,placement,propagation,dependencies,status,aggregation,resourcetree
{{- end }}
{{- include "towline.args.argocd" . }}
{{- include "towline.args.authorization" . }}
{{- include "towline.args.lifecycle" . }}
{{- include "towline.args.reports" . }}
{{- if not .Values.dependencies.appProjects }}
- --propagate-app-projects=false
{{- end }}
{{- if not .Values.dependencies.namespaces }}
- --propagate-namespaces=false
{{- end }}
{{- if .Values.dependencies.objects }}
- --propagate-objects
{{- end }}
{{- with .Values.gitOpsCluster.clusterClaims }}
- --cluster-claims={{ join "," . }}
{{- end }}
{{- if .Values.gitOpsCluster.takeOver }}
- --take-over-gitopsclusters
{{- end }}
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- if include "towline.metricsCertificate" . }}
- --metrics-cert-dir=/etc/towline/metrics
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "towline.args.argocd" -}}
{{- with .Values.argocd.namespace }}
- --argocd-namespace={{ . }}
{{- end }}
{{- with .Values.argocd.clusterNamespace }}
- --cluster-argocd-namespace={{ . }}
{{- end }}
{{- if .Values.argocd.redis.enabled }}
- --argocd-redis={{ include "towline.redisAddress" . }}
{{- if .Values.argocd.redis.passwordSecret.enabled }}
- --argocd-redis-password-file=/etc/towline/redis/password
{{- end }}
{{- if .Values.argocd.redis.tls.enabled }}
- --argocd-redis-use-tls
{{- if .Values.argocd.redis.tls.caSecret }}
- --argocd-redis-ca-certificate=/etc/towline/redis-ca/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.metrics.appInfo }}
- --argocd-app-info
{{- end }}
{{- if .Values.argocd.liveResources }}
- --argocd-live-resources
{{- end }}
{{- end }}

{{- define "towline.args.authorization" -}}
{{- with .Values.authorization }}
{{- if ne .clusters "binding-or-placement" }}
- --cluster-authorization={{ .clusters }}
{{- end }}
{{- with .allowedAppNamespaces }}
- {{ printf "--allowed-app-namespaces=%s" (join "," .) | quote }}
{{- end }}
{{- range $cluster, $namespace := .appNamespaces }}
- {{ printf "--app-namespaces=%s=%s" $cluster $namespace | quote }}
{{- end }}
{{- with .workExecutor }}
- --work-executor-service-account={{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "towline.args.lifecycle" -}}
{{- with .Values.lifecycle }}
{{- if ne .adopt "matching" }}
- --adopt={{ .adopt }}
{{- end }}
{{- if ne .onRevocation "freeze" }}
- --on-revocation={{ .onRevocation }}
{{- end }}
{{- if ne .afterRestore "hold" }}
- --after-restore={{ .afterRestore }}
{{- end }}
{{- if ne .moveOrder "new-first" }}
- --move-order={{ .moveOrder }}
{{- end }}
{{- with .moveTimeout }}
- --move-timeout={{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "towline.args.reports" -}}
{{- with .Values.reports }}
{{- if ne (join "," .sources) "agent" }}
- --resource-source={{ join "," .sources }}
{{- end }}
{{- with .maxBytes }}
- --report-max-bytes={{ int64 . }}
{{- end }}
{{- with .search.url }}
- --search-url={{ . }}
{{- end }}
{{- if .search.caSecret }}
- --search-ca-file=/etc/towline/search/ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/* Redis of Argo CD's own manifests, or of the operator's default Argo CD on OpenShift. */}}
{{- define "towline.redisAddress" -}}
{{- if .Values.argocd.redis.address -}}{{ .Values.argocd.redis.address }}
{{- else -}}
{{- $name := eq .Values.profile "acm" | ternary "openshift-gitops-redis" "argocd-redis" -}}
{{- with .Values.argocd.namespace -}}{{- $name = printf "%s.%s.svc" $name . -}}{{- end -}}
{{ $name }}:6379
{{- end -}}
{{- end }}

{{- define "towline.redisPasswordSecret" -}}
{{- .Values.argocd.redis.passwordSecret.name | default (eq .Values.profile "acm" | ternary "openshift-gitops-redis-initial-password" "argocd-redis") -}}
{{- end }}

{{- define "towline.redisPasswordKey" -}}
{{- .Values.argocd.redis.passwordSecret.key | default (eq .Values.profile "acm" | ternary "admin.password" "auth") -}}
{{- end }}

{{/* The Secret with the certificate of the metrics; empty for a self-signed one. */}}
{{- define "towline.metricsCertificate" -}}
{{- if .Values.metrics.enabled -}}
{{- .Values.metrics.certificate.secretName | default (ternary "towline-controller-metrics-tls" "" .Values.metrics.certificate.openshift) -}}
{{- end -}}
{{- end }}
