package storage_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The table of docs/stores.md would be worth little with other properties and versions than those that are tested.
func TestTheDocumentHasEveryPropertyAndTheVersionsOfTheServers(t *testing.T) {
	t.Parallel()
	text := readText(t, "../../docs/stores.md")
	for _, p := range properties(limits{}) {
		if !strings.Contains(text, "\n| "+p.name+" |") {
			t.Errorf("no line about: %s", p.name)
		}
	}
	installed := readText(t, "../../tools/stores")
	for _, name := range []string{"VERSITYGW", "FAKE_GCS", "AZURITE"} {
		version := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(installed)
		if version == nil || !strings.Contains(text, version[1]) {
			t.Errorf("the version of %s, %q, is not told", name, version)
		}
	}
	weed := regexp.MustCompile(`seaweedfs v\S+-([0-9a-f]{12})`).FindStringSubmatch(readText(t, "../../tools/weed/go.mod"))
	gofakes3 := regexp.MustCompile(`gofakes3 (v\S+)`).FindStringSubmatch(readText(t, "../../go.mod"))
	for _, version := range [][]string{weed, gofakes3} {
		if version == nil || !strings.Contains(text, version[1]) {
			t.Errorf("the version %q is not told", version)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
