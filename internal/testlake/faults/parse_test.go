package faults_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
)

func TestAScriptThatMakesNoSenseSaysWhereAndWhatWould(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"put":                        "no colon",
		": 503":                      "no operation before the colon",
		"post: 503":                  `operation "post" is not one of get, get-range, head, put, delete, list, load, commit, write, any`,
		"put:":                       "no fault behind the colon",
		"put: # 503":                 "no fault behind the colon",
		"put: explode":               `fault "explode" is not one of 412, 429, 503, conflict`,
		"put: stale":                 "fault stale is not possible for put, only for head, list, load, get, get-range",
		"write: conflict":            "fault conflict is not possible for put, only for commit",
		"any: short":                 "fault short is not possible for",
		"put a b: 503":               `"b" does not say when; write #2, #2+, #2-4, every 2 or always`,
		"put #0: 503":                `"#0" does not say when`,
		"put #-1: 503":               `"#-1" does not say when`,
		"put #+2: 503":               `"#+2" does not say when`,
		"put #4-2: 503":              `"#4-2" does not say when`,
		"put #2+-3: 503":             `"#2+-3" does not say when`,
		"put every: 503":             `"every" does not say when`,
		"put every x: 503":           `"every x" does not say when`,
		"put: 503 twice":             `fault 503 takes nothing, so "twice" is too much`,
		"put: slow":                  "fault slow takes one duration, for instance 20ms",
		"put: slow 1":                "missing unit",
		"put: slow -1s":              "-1s is negative",
		"# fine\n\nput: 503\n get :": `line 4: "get :": no fault behind the colon`,
	} {
		_, err := faults.Parse(script)
		assert.ErrorContains(t, err, want, script)
		assert.ErrorContains(t, err, "line ", script)
	}
}

func TestARuleSaysWhichCallsItIsAbout(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	for script, want := range map[string][]bool{
		"put: fail":                         {yes, yes, yes, yes, yes, yes},
		"put always: fail":                  {yes, yes, yes, yes, yes, yes},
		"put * : fail":                      {yes, yes, yes, yes, yes, yes},
		"put #2: fail   # the second":       {no, yes, no, no, no, no},
		"put #5+: fail":                     {no, no, no, no, yes, yes},
		"put #2-3: fail":                    {no, yes, yes, no, no, no},
		"put every 3: fail":                 {no, no, yes, no, no, yes},
		"put a/*: fail":                     {yes, yes, yes, no, no, no},
		"put a/*.puffin #2: fail":           {no, no, yes, no, no, no},
		"put ?/x: fail":                     {yes, no, no, yes, no, no},
		"put [ab]/x: fail":                  {no, no, no, no, no, no},
		"# nothing\n":                       {no, no, no, no, no, no},
		"get: fail\nwrite #1: fail":         {yes, no, no, no, no, no},
		"any #6: fail":                      {no, no, no, no, no, yes},
		"put b/* #1: fail\nput a/* #1: 412": {yes, no, no, yes, no, no},
	} {
		f := inProcess(t, script)
		var got []bool
		for _, key := range []string{"a/x", "a/b/1.puffin", "a/2.puffin", "b/x", "b/y", "c"} {
			got = append(got, f.WriteFile(t.Context(), prefix+key, nil) != nil)
		}
		assert.Equal(t, want, got, script)
	}
}

func FuzzParse(f *testing.F) {
	for _, script := range []string{
		"put *.puffin #2: 503", "get * #1: short", "commit #1: lost-reply", "list always: stale", "commit #3: crash", "put #2: crash-after",
		"load db.t #2+: slow 20ms", "# comment\nany every 3: reset # why", "write #7-9: torn", "put a[b\\*?: 412", "get-range: garbage\r\n\thead:fail",
	} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		s, err := faults.Parse(script)
		if err != nil {
			require.Nil(t, s)
			require.True(t, strings.HasPrefix(err.Error(), "line "), err)
			return
		}
		require.Zero(t, s.Count("any"))
		require.False(t, s.Crashed())
	})
}
