package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const (
	chart = "helm/dvcompactor"
	base  = "kustomize/base"
)

// valid hands manifests to kubecheck, which knows the types of Kubernetes.
func valid(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "kubecheck"))
	cmd.Stdin = strings.NewReader(manifests)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, manifests)
}

// kinds decodes manifests and returns them by kind and name.
func kinds(t *testing.T, manifests string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for d := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var one map[string]any
		if d.Decode(&one) != nil {
			return out
		}
		meta := one["metadata"].(map[string]any)
		out[one["kind"].(string)+"/"+meta["name"].(string)] = one
	}
}

// render renders the chart with values. The name of its objects is that of the release, lake-dvcompactor.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
	var text, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tool(t, "helm"), "template", "lake", chart, "--kube-version", "1.31.0", "--values", file)
	cmd.Stdout, cmd.Stderr = &text, &complaint
	err := cmd.Run()
	return text.String() + complaint.String(), err
}

// everything switches on all that can be.
const everything = `
config:
  catalogs: {prod: {type: rest, uri: "https://catalog.example"}}
  policies: [{name: nightly, tables: ["prod.*"], action: compact, schedule: "@daily"}]
shard: 1/2
env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]
envFrom: [{secretRef: {name: s}}]
extraVolumes: [{name: ca, secret: {secretName: ca}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/ssl/lake, readOnly: true}]
imagePullSecrets: [{name: pull}]
nodeSelector: {pool: batch}
tolerations: [{key: batch, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: low
podAnnotations: {a: b}
podLabels: {team: lake}
serviceAccount: {annotations: {role: arn}}
service: {annotations: {a: b}}
persistence: {storageClassName: fast}
serviceMonitor: {enabled: true, labels: {release: p}, scheme: https, tlsConfig: {insecureSkipVerify: true}, authorization: {credentials: {name: s, key: token}}}
prometheusRule: {enabled: true, labels: {release: p}}
dashboard: {enabled: true}
networkPolicy: {enabled: true, from: [{namespaceSelector: {}}], egress: [{ports: [{port: 443}]}]}
podDisruptionBudget: {enabled: true}
`

func TestTheChartRendersValidManifests(t *testing.T) {
	t.Parallel()
	always := []string{"ConfigMap/lake-dvcompactor", "ServiceAccount/lake-dvcompactor", "PersistentVolumeClaim/lake-dvcompactor"}
	daemon := append([]string{"Deployment/lake-dvcompactor", "Service/lake-dvcompactor"}, always...)
	for name, c := range map[string]struct {
		values string
		kinds  []string
	}{
		"defaults": {"{}", daemon},
		"cron job": {"mode: cronjob", append([]string{"CronJob/lake-dvcompactor"}, always...)},
		"without state": {"persistence: {enabled: false}\nserviceAccount: {create: false}",
			[]string{"ConfigMap/lake-dvcompactor", "Deployment/lake-dvcompactor", "Service/lake-dvcompactor"}},
		"everything": {everything, append([]string{"ServiceMonitor/lake-dvcompactor", "PrometheusRule/lake-dvcompactor", "ConfigMap/lake-dvcompactor-dashboard",
			"NetworkPolicy/lake-dvcompactor", "PodDisruptionBudget/lake-dvcompactor"}, daemon...)},
		"a cron job with everything": {everything + "mode: cronjob", append([]string{"CronJob/lake-dvcompactor", "ConfigMap/lake-dvcompactor-dashboard",
			"NetworkPolicy/lake-dvcompactor"}, always...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render(t, c.values)
			require.NoError(t, err, text)
			var got []string
			for kind := range kinds(t, text) {
				got = append(got, kind)
			}
			assert.ElementsMatch(t, c.kinds, got)
			valid(t, text)
		})
	}
}

func TestTheChartRefusesValuesThatMeanNothing(t *testing.T) {
	t.Parallel()
	for _, values := range []string{
		"mode: statefulset", "replicas: 2", "image: {registry: x}", "config: {version: 2}", "shard: 2of3", "service: {port: 0}",
		"terminationGracePeriodSeconds: soon", "networkPolicy: {enable: true}",
	} {
		text, err := render(t, values)
		require.Error(t, err, values)
		assert.Contains(t, text, "values don't meet the specifications of the schema", values)
	}
}

func TestTheChartShipsTheAlertsTheDashboardAndTheConfiguration(t *testing.T) {
	t.Parallel()
	text, err := render(t, everything)
	require.NoError(t, err, text)
	all := kinds(t, text)
	spec, err := yaml.Marshal(all["PrometheusRule/lake-dvcompactor"]["spec"])
	require.NoError(t, err)
	assert.YAMLEq(t, read(t, rulesFile), string(spec))
	data := all["ConfigMap/lake-dvcompactor-dashboard"]["data"].(map[string]any)
	assert.Equal(t, read(t, "grafana/dashboard.json"), data["dvcompactor.json"])
	data = all["ConfigMap/lake-dvcompactor"]["data"].(map[string]any)
	understood(t, data["config.yaml"].(string))
}

// understood reads a configuration as the program does, and wants it to serve beyond loopback: probes come from outside.
func understood(t *testing.T, text string) {
	t.Helper()
	env := func(string) (string, bool) { return "secret", true }
	c, err := config.Parse("config.yaml", []byte(text), env)
	require.NoError(t, err)
	assert.NotEmpty(t, c.Policies)
	assert.Equal(t, ":9464", c.Daemon.Listen)
	assert.Equal(t, "/var/lib/dvcompactor", c.Daemon.State)
}

func TestTheBaseOfKustomizeIsValid(t *testing.T) {
	t.Parallel()
	understood(t, read(t, base+"/config.yaml"))
	text := output(t, tool(t, "kubectl"), "kustomize", base)
	assert.Len(t, kinds(t, text), 5)
	valid(t, text)
}
