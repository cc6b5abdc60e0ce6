{{/* The arguments of the controller: only the arguments that differ from the defaults. */}}
{{- define "towline.args" -}}
- controller
{{- if not (include "towline.gitOpsCluster" .) }}
- --controllers=decisions,placement,propagation,dependencies,status,aggregation,resourcetree
{{- end }}
{{- include "towline.args.argocd" . }}
{{- include "towline.args.authorization" . }}
{{- include "towline.args.lifecycle" . }}
{{- include "towline.args.reports" . }}
{{- with include "towline.propagated" . }}
- {{ . }}
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
{{- if .Values.argocd.redisSecret }}
- --argocd-redis=/etc/towline/redis
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
{{- if .searchSecret }}
- --search=/etc/towline/search
{{- end }}
{{- end }}
{{- end }}

{{/* The argument --propagate; empty for the default list. */}}
{{- define "towline.propagated" -}}
{{- $list := list -}}
{{- with .Values.dependencies -}}
{{- if .appProjects -}}{{- $list = append $list "app-projects" -}}{{- end -}}
{{- if .namespaces -}}{{- $list = append $list "namespaces" -}}{{- end -}}
{{- if .objects -}}{{- $list = append $list "objects" -}}{{- end -}}
{{- end -}}
{{- $joined := join "," $list -}}
{{- if ne $joined "app-projects,namespaces" -}}
--propagate={{ $joined }}
{{- end -}}
{{- end }}

{{/* The Secret with the certificate of the metrics; empty for a self-signed one. */}}
{{- define "towline.metricsCertificate" -}}
{{- if .Values.metrics.enabled -}}
{{- .Values.metrics.certificate.secretName | default (ternary "towline-controller-metrics-tls" "" .Values.metrics.certificate.openshift) -}}
{{- end -}}
{{- end }}
