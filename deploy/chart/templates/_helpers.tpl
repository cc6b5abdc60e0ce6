{{/* The labels of Helm, for every object. */}}
{{- define "towline.helmLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (replace "+" "_" .Chart.Version) }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "towline.labels" -}}
app.kubernetes.io/name: towline
app.kubernetes.io/part-of: towline
{{ include "towline.helmLabels" . }}
{{- end }}

{{/* The image, with the digest if image.digest is set. */}}
{{- define "towline.image" -}}
{{- with .Values.image -}}
{{- $repository := required "image.repository is empty: no image is published. Push an image with `make image`, and set --set image.repository=registry.example/towline" .repository -}}
{{- $repository -}}
{{- if .tag -}}:{{ .tag }}{{- else if not .digest -}}:{{ $.Chart.AppVersion }}{{- end -}}
{{- with .digest -}}@{{ . }}{{- end -}}
{{- end -}}
{{- end }}

{{/* The image of towline-source, with the digest if source.image.digest is set. */}}
{{- define "towline.sourceImage" -}}
{{- with .Values.source.image -}}
{{- required "source.image.repository is empty: no image is published. Push an image with `make image-source`, and set --set source.image.repository=registry.example/towline-source" .repository -}}
{{- if .tag -}}:{{ .tag }}{{- else if not .digest -}}:{{ $.Chart.AppVersion }}{{- end -}}
{{- with .digest -}}@{{ . }}{{- end -}}
{{- end -}}
{{- end }}

{{/* The namespace of the hub's Argo CD. */}}
{{- define "towline.argocdNamespace" -}}
{{- .Values.argocd.namespace | default .Release.Namespace -}}
{{- end }}

{{/* The CRDs to install: all, own or none. With own, the CRDs of Advanced Cluster Management stay as they are. */}}
{{- define "towline.crds" -}}
{{- .Values.crds.enabled | default (eq .Values.profile "acm" | ternary "own" "all") -}}
{{- end }}

{{/* Whether this release brings the CRD of reports to a hub of Advanced Cluster Management: the hub lacks the CRD, or has the CRD from this
     release. Empty without a connection to the hub, as with helm template. */}}
{{- define "towline.bringsReports" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}
{{- $crd := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "multiclusterapplicationsetreports.apps.open-cluster-management.io" -}}
{{- if or (not $crd) (eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $crd) .Release.Name) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/* "true" if Towline runs the controller of GitOpsClusters, otherwise empty. */}}
{{- define "towline.gitOpsCluster" -}}
{{- $enabled := ne .Values.profile "acm" -}}
{{- if kindIs "bool" .Values.gitOpsCluster.enabled -}}{{- $enabled = .Values.gitOpsCluster.enabled -}}{{- end -}}
{{- if $enabled -}}true{{- end -}}
{{- end }}

{{/* A memory limit in MiB. */}}
{{- define "towline.mebibytes" -}}
{{- if hasSuffix "Gi" . -}}{{ mul (trimSuffix "Gi" . | int) 1024 }}{{- else -}}{{ trimSuffix "Mi" . }}{{- end -}}
{{- end }}

{{/*
The objects of a file of the chart, with the labels and namespaces of this release. `make manifests` copies the files from
deploy/. The argument is a dict with root, the context of the chart; file, a path; and namespace, if the namespace differs from
the namespace of the release.
*/}}
{{- define "towline.objects" -}}
{{- $root := .root -}}
{{- $text := .root.Files.Get .file -}}
{{- if not $text -}}{{- fail (printf "the chart lacks its file %s: run `make manifests`" .file) -}}{{- end -}}
{{- if contains "image: towline:latest" $text -}}
{{- $text = replace "image: towline:latest" (printf "image: %s" (include "towline.image" $root)) $text -}}
{{- end -}}
{{- range regexSplit "(?m)^---$" $text -1 -}}
{{- $object := fromYaml . -}}
{{- if $object.kind -}}
{{- include "towline.adapt" (dict "root" $root "object" $object "namespace" ($.namespace | default $root.Release.Namespace)) }}
---
{{ toYaml $object }}
{{ end -}}
{{- end -}}
{{- end }}

{{/* The kinds of namespaced objects in the chart's files. */}}
{{- define "towline.namespaced" -}}
ServiceAccount Role RoleBinding Deployment Service NetworkPolicy PodDisruptionBudget PrometheusRule ServiceMonitor Placement AddOnDeploymentConfig
{{- end }}

{{/* Gives an object the labels and namespaces of this release, and prints no text. */}}
{{- define "towline.adapt" -}}
{{- $labels := .object.metadata.labels | default dict -}}
{{- if hasKey $labels "app.kubernetes.io/name" -}}
{{- $labels = merge $labels (include "towline.helmLabels" .root | fromYaml) -}}
{{- else -}}
{{- $labels = merge $labels (include "towline.labels" .root | fromYaml) -}}
{{- end -}}
{{- $_ := set .object.metadata "labels" $labels -}}
{{- if has .object.kind (splitList " " (include "towline.namespaced" .)) -}}
{{- $_ := set .object.metadata "namespace" .namespace -}}
{{- end -}}
{{- $root := .root -}}
{{- if and (eq .object.kind "ClusterRole") (not (include "towline.gitOpsCluster" .root)) -}}
{{- $_ := set .object "rules" (include "towline.rulesWithoutGitOpsClusters" .object.rules | fromYamlArray) -}}
{{- end -}}
{{- if eq .object.kind "Deployment" -}}
{{- include "towline.place" (dict "values" .root.Values "pod" .object.spec.template.spec) -}}
{{- end -}}
{{- range .object.subjects -}}
{{- if eq .name "towline-controller" -}}{{- $_ := set . "namespace" $root.Release.Namespace -}}{{- end -}}
{{- if eq .name "towline-source" -}}{{- $_ := set . "namespace" (include "towline.argocdNamespace" $root) -}}{{- end -}}
{{- end -}}
{{- end }}

{{/* Gives a Pod the pull secrets, the nodes and the priority of the values, and prints no text. */}}
{{- define "towline.place" -}}
{{- $pod := .pod -}}
{{- $values := .values -}}
{{- $secrets := list -}}
{{- range $values.image.pullSecrets -}}{{- $secrets = append $secrets (dict "name" .) -}}{{- end -}}
{{- if $secrets -}}{{- $_ := set $pod "imagePullSecrets" $secrets -}}{{- end -}}
{{- range $key := list "nodeSelector" "tolerations" "priorityClassName" -}}
{{- with index $values $key -}}{{- $_ := set $pod $key . -}}{{- end -}}
{{- end -}}
{{- end }}

{{/* The rules without the rights that only the controller of GitOpsClusters needs. */}}
{{- define "towline.rulesWithoutGitOpsClusters" -}}
{{- $kept := list -}}
{{- range . -}}
{{- $resources := without (.resources | default list) "gitopsclusters" "gitopsclusters/status" "placements" "leases" -}}
{{- if has "gitopsclusters.apps.open-cluster-management.io" (.resourceNames | default list) -}}{{- $resources = list -}}{{- end -}}
{{- if or $resources .nonResourceURLs -}}
{{- if .resources -}}{{- $_ := set . "resources" $resources -}}{{- end -}}
{{- $kept = append $kept . -}}
{{- end -}}
{{- end -}}
{{ toYaml $kept }}
{{- end }}
