{{/* The Secrets that the controller reads as files: a list of dicts with name and secret. */}}
{{- define "towline.mounted" -}}
{{- $list := list -}}
{{- with .Values.argocd.redisSecret -}}
{{- $list = append $list (dict "name" "redis" "secret" .) -}}
{{- end -}}
{{- with .Values.reports.searchSecret -}}
{{- $list = append $list (dict "name" "search" "secret" .) -}}
{{- end -}}
{{- if .Values.traces.endpoint -}}
{{- with .Values.traces.caSecret -}}
{{- $list = append $list (dict "name" "traces" "secret" .) -}}
{{- end -}}
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
