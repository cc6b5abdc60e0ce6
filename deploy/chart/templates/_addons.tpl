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
{{- define "towline.addon.ClusterRole" -}}
{{- if and .root.Values.addons.agent.argocdManagedResources (eq .object.metadata.name "towline-agent") -}}
{{- $_ := set .object "rules" (append .object.rules (dict "apiGroups" (list "source.apps.open-cluster-management.io") "resources" (list "managedresources") "verbs" (list "update" "delete"))) -}}
{{- end -}}
{{- if and .root.Values.addons.agent.source (eq .object.metadata.name "towline-agent") -}}
{{- $_ := set .object "rules" (append .object.rules (dict "apiGroups" (list "source.apps.open-cluster-management.io") "resources" (list "repositories/proxy") "verbs" (list "get" "create"))) -}}
{{- end -}}
{{- end }}
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
{{- if .root.Values.addons.agent.argocdManagedResources -}}
{{- range .object.spec.agentSpec.workload.manifests -}}
{{- if and (eq .kind "Deployment") (eq .metadata.name "towline-agent") -}}
{{- $container := index .spec.template.spec.containers 0 -}}
{{- $_ := set $container "args" (append $container.args "--argocd-managed-resources={{ARGOCD_NAMESPACE}}") -}}
{{- $_ := set (index $container.env 0) "value" "80MiB" -}}
{{- $_ := set $container.resources.limits "memory" "128Mi" -}}
{{- else if and (eq .kind "Role") (eq .metadata.name "towline-agent") -}}
{{- $_ := set . "rules" (concat .rules (include "towline.agentTreeRules" $ | fromYamlArray)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .root.Values.addons.agent.source -}}
{{- include (printf "towline.source.%s" .object.metadata.name) .object.spec.agentSpec -}}
{{- end -}}
{{- end }}

{{/* The agent serves Git repositories of the hub to Argo CD. The argument is the agentSpec of the add-on. */}}
{{- define "towline.source.towline-agent" -}}
{{- $container := index (index .workload.manifests 1).spec.template.spec.containers 0 -}}
{{- $_ := set $container "args" (concat $container.args (list "--source-bind-address=:8444" "--source-namespace={{INSTALL_NAMESPACE}}" "--source-argocd-namespace={{ARGOCD_NAMESPACE}}")) -}}
{{- $_ := set $container "ports" (append $container.ports (dict "name" "source" "containerPort" 8444)) -}}
{{- $_ := set (index $container.env 0) "value" "80MiB" -}}
{{- $_ := set $container.resources.limits "memory" "128Mi" -}}
{{- $_ := set . "manifestConfigs" (include "towline.source.created" "towline-source-keys" | fromYamlArray) -}}
{{- $_ := set .workload "manifests" (concat .workload.manifests (include "towline.source.agentObjects" nil | fromYamlArray)) -}}
{{- end }}

{{- define "towline.source.towline-rights" -}}
{{- $role := index .workload.manifests 2 -}}
{{- $_ := set $role "rules" (concat $role.rules (include "towline.source.rules" nil | fromYamlArray)) -}}
{{- $_ := set . "manifestConfigs" (include "towline.source.created" "towline-source" | fromYamlArray) -}}
{{- $_ := set .workload "manifests" (append .workload.manifests (dict "apiVersion" "v1" "kind" "Secret" "metadata" (dict "name" "towline-source" "namespace" "argocd") "type" "Opaque")) -}}
{{- end }}

{{/* The work agent creates the Secret of the name, and never updates the Secret: the agent fills the Secret. */}}
{{- define "towline.source.created" -}}
- resourceIdentifier: {group: "", resource: secrets, namespace: "*", name: {{ . }}}
  updateStrategy: {type: CreateOnly}
{{- end }}

{{- define "towline.source.rules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [towline-source]
  verbs: [get, list, watch, update]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [argocd-tls-certs-cm]
  verbs: [get, list, watch, patch]
{{- end }}

{{- define "towline.source.agentObjects" -}}
- apiVersion: v1
  kind: Secret
  metadata:
    name: towline-source-keys
    namespace: open-cluster-management-agent-addon
  type: Opaque
- apiVersion: v1
  kind: Service
  metadata:
    name: towline-source
    namespace: open-cluster-management-agent-addon
  spec:
    selector:
      app.kubernetes.io/name: towline
      app.kubernetes.io/component: agent
    ports:
    - name: https
      port: 443
      targetPort: source
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata:
    name: towline-agent-source
    namespace: open-cluster-management-agent-addon
  rules:
  - apiGroups: [""]
    resources: [secrets]
    resourceNames: [towline-source-keys]
    verbs: [get, list, watch, update]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata:
    name: towline-agent-source
    namespace: open-cluster-management-agent-addon
  roleRef:
    apiGroup: rbac.authorization.k8s.io
    kind: Role
    name: towline-agent-source
  subjects:
  - kind: ServiceAccount
    name: towline-agent
    namespace: open-cluster-management-agent-addon
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata:
    name: towline-agent-source
    namespace: open-cluster-management-agent-addon
  spec:
    podSelector:
      matchLabels:
        app.kubernetes.io/name: towline
        app.kubernetes.io/component: agent
    policyTypes:
    - Ingress
    ingress:
    - from:
      - namespaceSelector:
          matchLabels:
            kubernetes.io/metadata.name: '{{ `{{ARGOCD_NAMESPACE}}` }}'
        podSelector:
          matchExpressions:
          - key: app.kubernetes.io/name
            operator: In
            values: [argocd-repo-server, openshift-gitops-repo-server]
      ports:
      - port: source
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
