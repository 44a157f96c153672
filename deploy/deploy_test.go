// Package deploy holds what runs a daemon on other people's machines; these tests keep it working.
package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const rulesFile = "prometheus/rules.yaml"

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// tool finds a program that a test needs. Without it the test is skipped, unless DVC_DEPLOY_TOOLS names it as one that has
// to be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if slices.Contains(strings.Fields(os.Getenv("DVC_DEPLOY_TOOLS")), name) {
			require.NoError(t, err)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

// output runs a program and returns what it printed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
	return string(out)
}

// rule is an alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) []rule {
	var file struct {
		Groups []struct{ Rules []rule }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, rulesFile)), &file))
	require.Len(t, file.Groups, 1)
	require.NotEmpty(t, file.Groups[0].Rules)
	return file.Groups[0].Rules
}

func TestEveryAlertHasASectionInTheRunbookAndALinkToIt(t *testing.T) {
	t.Parallel()
	var sections, names []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(read(t, "../docs/runbook.md"), -1) {
		sections = append(sections, m[1])
	}
	for _, a := range alerts(t) {
		names = append(names, a.Alert)
		assert.True(t, strings.HasSuffix(a.Annotations["runbook_url"], "/docs/runbook.md#"+strings.ToLower(a.Alert)), a.Alert)
		assert.NotEmpty(t, a.Annotations["summary"], a.Alert)
		assert.NotEmpty(t, a.Annotations["description"], a.Alert)
		assert.Contains(t, []string{"critical", "warning"}, a.Labels["severity"], a.Alert)
	}
	assert.Equal(t, names, sections)
}

// A rule on a metric that does not exist never fires, and a unit test with made-up series does not notice.
func TestAlertsAndPanelsUseMetricsAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	real := exported(t)
	for _, path := range []string{rulesFile, "prometheus/rules_test.yaml", "grafana/dashboard.json", "../docs/runbook.md"} {
		for _, m := range mentioned(read(t, path)) {
			labels, ok := real[m.name]
			if !assert.True(t, ok, "%s: no metric %s", path, m.name) {
				continue
			}
			for label, value := range m.labels {
				values, ok := labels[label]
				assert.True(t, ok, "%s: %s has no label %s", path, m.name, label)
				if closed(label) {
					assert.Contains(t, values, value, "%s: %s{%s}", path, m.name, label)
				}
			}
		}
	}
}

func TestEveryAlertFiresInItsUnitTests(t *testing.T) {
	t.Parallel()
	tests := read(t, "prometheus/rules_test.yaml")
	for _, a := range alerts(t) {
		assert.Contains(t, tests, a.Alert)
	}
	if testing.Short() {
		t.Skip("promtool evaluates weeks")
	}
	promtool := tool(t, "promtool")
	output(t, promtool, "check", "rules", rulesFile)
	output(t, promtool, "test", "rules", "prometheus/rules_test.yaml")
}

// closed says whether the values of a label are known beforehand.
func closed(label string) bool {
	return slices.Contains([]string{"result", "action", "kind", "op"}, label)
}
