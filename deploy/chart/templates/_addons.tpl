{{/* The objects of a file of the add-ons, with the settings of addons.*. The argument is a dict with root and file. */}}
{{- define "towline.addon" -}}
{{- $root := .root -}}
{{- range regexSplit "(?m)^---$" (include "towline.objects" .) -1 -}}
{{- $object := fromYaml . -}}
{{- if $object.kind -}}
{{- include (printf "towline.addon.%s" $object.kind) (dict "root" $root "object" $object) }}
---
{{ toYaml $object }}
{{ end -}}
{{- end -}}
{{- end }}

{{/* Each template towline.addon.KIND changes an object of the kind in place, and prints no text. */}}
{{- define "towline.addon.ClusterRole" }}{{ end }}
{{- define "towline.addon.Placement" }}{{ end }}

{{- define "towline.addon.AddOnTemplate" -}}
{{- if and .root.Values.networkPolicy.enabled (eq .object.metadata.name "towline-agent") -}}
{{- $workload := .object.spec.agentSpec.workload -}}
{{- $_ := set $workload "manifests" (append $workload.manifests (include "towline.agentNetworkPolicy" .root | fromYaml)) -}}
{{- end -}}
{{- if and .root.Values.addons.agent.secureMetrics (eq .object.metadata.name "towline-agent") -}}
{{- $workload := .object.spec.agentSpec.workload -}}
{{- range $workload.manifests -}}
{{- if eq .kind "Deployment" -}}
{{- $container := index .spec.template.spec.containers 0 -}}
{{- $_ := set $container "args" (without $container.args "--metrics-secure=false" "--metrics-bind-address=:8080") -}}
{{- $_ := set (index $container.ports 0) "containerPort" 8443 -}}
{{- end -}}
{{- end -}}
{{- $_ := set $workload "manifests" (append $workload.manifests (include "towline.agentMetricsBinding" .root | fromYaml)) -}}
{{- end -}}
{{- if .root.Values.addons.agent.argocdTree -}}
{{- range .object.spec.agentSpec.workload.manifests -}}
{{- if and (eq .kind "Deployment") (eq .metadata.name "towline-agent") -}}
{{- $container := index .spec.template.spec.containers 0 -}}
{{- $_ := set $container "args" (append $container.args "--argocd-tree={{ARGOCD_NAMESPACE}}") -}}
{{- else if and (eq .kind "Role") (eq .metadata.name "towline-agent") -}}
{{- $_ := set . "rules" (concat .rules (include "towline.agentTreeRules" $ | fromYamlArray)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* On a cluster: the agent may read Argo CD's objects with the address and the password of Redis. */}}
{{- define "towline.agentTreeRules" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [argocd-cmd-params-cm]
  verbs: [get]
- apiGroups: [""]
  resources: [services]
  resourceNames: [argocd-redis, argocd-redis-ha-haproxy, openshift-gitops-redis, openshift-gitops-redis-ha-haproxy]
  verbs: [get]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [argocd-redis, argocd-redis-initial-password, openshift-gitops-redis-initial-password, argocd-operator-redis-tls]
  verbs: [get]
{{- end }}

{{/* On a cluster: the agent may ask for the rights of clients that request its metrics. */}}
{{- define "towline.agentMetricsBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: towline-agent-metrics
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:auth-delegator
subjects:
- kind: ServiceAccount
  name: towline-agent
  namespace: open-cluster-management-agent-addon
{{- end }}

{{/* On a cluster: the permitted connections to the agent's metrics. Without secureMetrics, the metrics need no token. */}}
{{- define "towline.agentNetworkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: towline-agent
  namespace: open-cluster-management-agent-addon
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: towline
      app.kubernetes.io/component: agent
  policyTypes:
  - Ingress
  ingress:
  - from: {{- toYaml (.Values.networkPolicy.agentMetricsFrom | default (list (dict "namespaceSelector" (dict "matchLabels" (dict "towline.io/scrapes-metrics" "true"))))) | nindent 4 }}
    ports:
    - port: metrics
{{- end }}

{{- define "towline.addon.ClusterRoleBinding" -}}
{{- $_ := set (index .object.subjects 0) "name" .root.Values.addons.manager.name -}}
{{- $_ := set (index .object.subjects 0) "namespace" .root.Values.addons.manager.namespace -}}
{{- end }}

{{- define "towline.addon.ClusterManagementAddOn" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- range .object.spec.supportedConfigs -}}
{{- if .defaultConfig.namespace -}}{{- $_ := set .defaultConfig "namespace" $namespace -}}{{- end -}}
{{- end -}}
{{- if or (eq .object.metadata.name "towline-rights") (eq .root.Values.addons.agent.install "placements") -}}
{{- $placements := .root.Values.addons.placements | default (list (dict "name" "towline-clusters" "namespace" $namespace)) -}}
{{- $_ := set .object.spec "installStrategy" (dict "type" "Placements" "placements" $placements) -}}
{{- end -}}
{{- end }}

{{- define "towline.addon.AddOnDeploymentConfig" -}}
{{- $values := .root.Values -}}
{{- $argocd := $values.argocd.clusterNamespace | default (include "towline.argocdNamespace" .root) -}}
{{- if eq .object.metadata.name "towline-rights" -}}
{{- $_ := set .object.spec "agentInstallNamespace" $argocd -}}
{{- end -}}
{{- $variables := dict "ARGOCD_NAMESPACE" $argocd "NOT_COMPARED_AFTER" $values.addons.agent.notComparedAfter "WORK_AGENT" $values.addons.rights.workAgent -}}
{{- range .object.spec.customizedVariables -}}
{{- $_ := set . "value" (get $variables .name | default .value) -}}
{{- end -}}
{{- with $values.addons.registries -}}
{{- $_ := set $.object.spec "registries" . -}}
{{- end -}}
{{- end }}
