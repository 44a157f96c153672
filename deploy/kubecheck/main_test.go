package main

import (
	"strings"
	"testing"
)

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"

func TestWhatIsRightIsCounted(t *testing.T) {
	n, err := check(strings.NewReader("# a comment\n---\n" + service + "---\n" + service + "---\n"))
	if n != 2 || err != nil {
		t.Fatal(n, err)
	}
}

func TestWhatKubernetesWouldNotTakeIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"a field that does not exist": strings.Replace(service, "port:", "prot:", 1),
		"a value of another type":     strings.Replace(service, "80", "http", 1),
		"a key that comes twice":      service + "kind: Service\n",
		"a kind that does not exist":  strings.Replace(service, "Service", "Servant", 1),
		"a version that is gone":      "apiVersion: extensions/v1beta2\nkind: Deployment\nmetadata: {name: a}\n",
		"a monitor with a mistake":    "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\nspec: {endpoint: []}\n",
		"no kind":                     "a: b\n",
	} {
		if _, err := check(strings.NewReader(service + "---\n" + text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
