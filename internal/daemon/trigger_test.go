package daemon

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
)

func measures() maintenance.Measures {
	return maintenance.Measures{DeleteFiles: 10, MostDeleteFilesPerDataFile: 4, PuffinFiles: 3, DeleteManifests: 7, DeletedRowRatio: 0.25, DeadPuffinRatio: 0.5}
}

func TestEveryMeasureFiresWhenItIsReachedAndNotBelow(t *testing.T) {
	t.Parallel()
	values := map[string]float64{"min_delete_files": 10, "max_delete_files_per_data_file": 4, "min_puffin_files": 3, "min_delete_manifests": 7, "deleted_row_ratio": 0.25, "dead_puffin_ratio": 0.5}
	for _, name := range config.TriggerNames() {
		value := values[name]
		for least, want := range map[float64]bool{value: true, value * 0.99: true, value * 1.01: false} {
			fires, why := Fires(config.Triggers{Any: []config.Trigger{{Name: name, Least: least}}}, measures())
			assert.Equal(t, want, fires, "%s %v", name, least)
			assert.Contains(t, why, name)
		}
	}
}

func TestAnyAndAllAreBothWanted(t *testing.T) {
	t.Parallel()
	yes, no := config.Trigger{Name: "min_delete_files", Least: 1}, config.Trigger{Name: "min_puffin_files", Least: 99}
	for _, c := range []struct {
		any, all []config.Trigger
		want     bool
	}{
		{nil, nil, true}, {[]config.Trigger{yes, no}, nil, true}, {[]config.Trigger{no}, nil, false}, {nil, []config.Trigger{yes}, true},
		{nil, []config.Trigger{yes, no}, false}, {[]config.Trigger{no}, []config.Trigger{yes}, false}, {[]config.Trigger{yes}, []config.Trigger{no}, false},
		{[]config.Trigger{yes}, []config.Trigger{yes}, true},
	} {
		fires, _ := Fires(config.Triggers{Any: c.any, All: c.all}, measures())
		assert.Equal(t, c.want, fires, "any %v all %v", c.any, c.all)
	}
}

func TestTheTextSaysByHowMuchATriggerDidNotFire(t *testing.T) {
	t.Parallel()
	_, why := Fires(config.Triggers{Any: []config.Trigger{{Name: "min_delete_files", Least: 100}, {Name: "deleted_row_ratio", Least: 0.1}}}, measures())
	assert.Equal(t, "min_delete_files 10 < 100; deleted_row_ratio 0.25 >= 0.1", why)
}

func TestPropertiesOfATableOverrideTriggersOrAddSome(t *testing.T) {
	t.Parallel()
	policy := config.Triggers{Any: []config.Trigger{{Name: "min_delete_files", Least: 100}}, All: []config.Trigger{{Name: "min_puffin_files", Least: 2}}}
	got, odd := Overridden(policy, map[string]string{
		"dvcompactor.min_delete_files": "5", "dvcompactor.min_puffin_files": "7", "dvcompactor.dead_puffin_ratio": "0.9",
		"dvcompactor.deleted_row_ratio": "lots", "dvcompactor.max_delete_files_per_data_file": "-1", "dvcompactor.other": "1",
	})
	assert.Equal(t, []config.Trigger{{Name: "min_delete_files", Least: 5}, {Name: "dead_puffin_ratio", Least: 0.9}}, got.Any)
	assert.Equal(t, []config.Trigger{{Name: "min_puffin_files", Least: 7}}, got.All)
	assert.Equal(t, []string{`table property dvcompactor.max_delete_files_per_data_file is no number: "-1"`, `table property dvcompactor.deleted_row_ratio is no number: "lots"`}, odd)
	assert.InDelta(t, 100, policy.Any[0].Least, 0, "the policy is that of other tables too")
}

func TestATriggerThatIsNoNumberDoesNotFireForEver(t *testing.T) {
	t.Parallel()
	_, odd := Overridden(config.Triggers{}, map[string]string{"dvcompactor.min_delete_files": "NaN", "dvcompactor.min_puffin_files": "+Inf"})
	assert.Len(t, odd, 2)
}
