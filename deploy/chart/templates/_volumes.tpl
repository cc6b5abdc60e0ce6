{{/* The Secrets that the controller reads as files: a list of dicts of name, secret, from and to. */}}
{{- define "towline.mounted" -}}
{{- $redis := .Values.argocd.redis -}}
{{- $list := list -}}
{{- if and $redis.enabled $redis.passwordSecret.enabled -}}
{{- $list = append $list (dict "name" "redis" "secret" (include "towline.redisPasswordSecret" .) "from" (include "towline.redisPasswordKey" .) "to" "password") -}}
{{- end -}}
{{- if and $redis.enabled $redis.tls.enabled $redis.tls.caSecret -}}
{{- $list = append $list (dict "name" "redis-ca" "secret" $redis.tls.caSecret "from" "ca.crt" "to" "ca.crt") -}}
{{- end -}}
{{- with .Values.reports.search.caSecret -}}
{{- $list = append $list (dict "name" "search" "secret" . "from" "ca.crt" "to" "ca.crt") -}}
{{- end -}}
{{- with include "towline.metricsCertificate" . -}}
{{- $list = append $list (dict "name" "metrics" "secret" .) -}}
{{- end -}}
{{ toYaml $list }}
{{- end }}

{{- define "towline.volumes" -}}
{{- range include "towline.mounted" . | fromYamlArray }}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    {{- if .from }}
    items:
    - key: {{ .from }}
      path: {{ .to }}
    {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "towline.volumeMounts" -}}
{{- range include "towline.mounted" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: /etc/towline/{{ .name }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
