package daemon

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// property is how a table overrides the trigger of a policy, or adds one.
const property = "dvcompactor."

// Overridden returns triggers with what the properties of a table say. A value that is no number is told of, and ignored.
func Overridden(t config.Triggers, properties map[string]string) (config.Triggers, []string) {
	var odd []string
	out := config.Triggers{Any: slices.Clone(t.Any), All: slices.Clone(t.All)}
	for _, name := range config.TriggerNames() {
		text, ok := properties[property+name]
		if !ok {
			continue
		}
		least, err := strconv.ParseFloat(text, 64)
		if err != nil || !(least >= 0 && least <= math.MaxFloat64) { // which NaN is not either
			odd = append(odd, fmt.Sprintf("table property %s%s is no number: %q", property, name, text))
			continue
		}
		if !set(out.Any, name, least) && !set(out.All, name, least) {
			out.Any = append(out.Any, config.Trigger{Name: name, Least: least})
		}
	}
	return out, odd
}

func set(triggers []config.Trigger, name string, least float64) bool {
	found := false
	for i := range triggers {
		if triggers[i].Name == name {
			triggers[i].Least, found = least, true
		}
	}
	return found
}

// Fires says whether the triggers fire on a table, and why, or by how much they do not.
func Fires(t config.Triggers, m maintenance.Measures) (bool, string) {
	if len(t.Any)+len(t.All) == 0 {
		return true, "no triggers: always"
	}
	var texts []string
	fires := len(t.Any) == 0
	for _, one := range t.Any {
		ok, text := compare(one, m)
		fires = fires || ok
		texts = append(texts, text)
	}
	for _, one := range t.All {
		ok, text := compare(one, m)
		fires = fires && ok
		texts = append(texts, text)
	}
	return fires, strings.Join(texts, "; ")
}

// compare compares one measure with its least value.
func compare(t config.Trigger, m maintenance.Measures) (bool, string) {
	value := measured(t.Name, m)
	sign := "<"
	if value >= t.Least {
		sign = ">="
	}
	return value >= t.Least, fmt.Sprintf("%s %s %s %s", t.Name, number(value), sign, number(t.Least))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// measured returns the measure that a trigger is about.
func measured(name string, m maintenance.Measures) float64 {
	switch name {
	case "min_delete_files":
		return float64(m.DeleteFiles)
	case "max_delete_files_per_data_file":
		return float64(m.MostDeleteFilesPerDataFile)
	case "min_puffin_files":
		return float64(m.PuffinFiles)
	case "min_delete_manifests":
		return float64(m.DeleteManifests)
	case "deleted_row_ratio":
		return m.DeletedRowRatio
	case "dead_puffin_ratio":
		return m.DeadPuffinRatio
	}
	return 0
}
