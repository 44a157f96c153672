{{- define "dvcompactor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "dvcompactor.fullname" -}}
{{- $name := include "dvcompactor.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "dvcompactor.selector" -}}
app.kubernetes.io/name: {{ include "dvcompactor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dvcompactor.labels" -}}
{{ include "dvcompactor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "dvcompactor.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "dvcompactor.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* What the pods of both modes have in common. args: of the program. */}}
{{- define "dvcompactor.pod" -}}
{{- $v := .Values }}
metadata:
  labels:
    {{- include "dvcompactor.labels" . | nindent 4 }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ toYaml $v.config | sha256sum }}
    {{- with $v.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "dvcompactor.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  {{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
  {{- with index $v $key }}
  {{ $key }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  {{- if eq $v.mode "cronjob" }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: dvcompactor
      image: {{ printf "%s:%s" $v.image.repository (default .Chart.AppVersion $v.image.tag) | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args:
        - serve
        - --config=/etc/dvcompactor/config.yaml
        {{- if eq $v.mode "cronjob" }}
        - --once
        {{- end }}
        {{- with $v.shard }}
        - {{ printf "--shard=%s" . | quote }}
        {{- end }}
      {{- range $key := list "env" "envFrom" }}
      {{- with index $v $key }}
      {{ $key }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      {{- if eq $v.mode "deployment" }}
      ports:
        - {name: http, containerPort: {{ $v.service.port }}, protocol: TCP}
      livenessProbe:
        httpGet: {path: /-/healthy, port: http, scheme: {{ $v.probeScheme }}}
        periodSeconds: 30
        timeoutSeconds: 10
      readinessProbe:
        httpGet: {path: /-/ready, port: http, scheme: {{ $v.probeScheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
      startupProbe:
        httpGet: {path: /-/healthy, port: http, scheme: {{ $v.probeScheme }}}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 60
      {{- end }}
      resources: {{ toJson $v.resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /etc/dvcompactor, readOnly: true}
        - {name: state, mountPath: /var/lib/dvcompactor}
        - {name: tmp, mountPath: /tmp}
        {{- with $v.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "dvcompactor.fullname" . }}}
    - name: state
      {{- if $v.persistence.enabled }}
      persistentVolumeClaim: {claimName: {{ default (include "dvcompactor.fullname" .) $v.persistence.existingClaim }}}
      {{- else }}
      emptyDir: {}
      {{- end }}
    - name: tmp
      emptyDir: {}
    {{- with $v.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
