package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/maintenance"
)

// ReadPlans reads what a command that plans printed or saved: one plan, or the list form with several. It is strict,
// so that a plan of another version of the program is not half understood.
func ReadPlans(data []byte) ([]*maintenance.Plan, error) {
	var probe struct {
		Tables []json.RawMessage `json:"tables"`
		Failed []json.RawMessage `json:"failed"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	if probe.Tables == nil {
		probe.Tables = []json.RawMessage{data}
	}
	if len(probe.Failed) > 0 {
		return nil, fmt.Errorf("the plan is not complete: planning failed for %d tables; make a new one", len(probe.Failed))
	}
	plans := make([]*maintenance.Plan, 0, len(probe.Tables))
	for _, raw := range probe.Tables {
		p, err := readPlan(raw)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func readPlan(raw []byte) (*maintenance.Plan, error) {
	doc := Plan{Plan: &maintenance.Plan{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not a plan of this version: %w", err)
	}
	switch p := doc.Plan; {
	case doc.Failure != nil:
		return nil, fmt.Errorf("planning of %s failed: %s", p.Table, doc.Failure.Error)
	case p.Table == "" || p.Ref == "" || p.TableUUID == "" || p.Fingerprint == "":
		return nil, errors.New("not a plan: want table, ref, table_uuid and fingerprint")
	case p.Action != maintenance.Compact && p.Action != maintenance.Migrate:
		return nil, fmt.Errorf("not a plan of this version: action %q", p.Action)
	}
	return doc.Plan, nil
}
