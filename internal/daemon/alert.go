package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// Alert is what a webhook is told.
type Alert struct {
	Event string    `json:"event"` // halted | paused | corruption | conflicts
	Table string    `json:"table"`
	Time  time.Time `json:"time"`
	Text  string    `json:"text"` // for people; chat services show this field
	Run   Run       `json:"run"`
}

// conflictsInARow is how many runs have to lose every race before somebody is told.
const conflictsInARow = 3

// event names what there is to tell of a run, or nothing.
func event(run Run, record Record) string {
	switch run.Result {
	case ResultHalted:
		return "halted"
	case ResultDamaged:
		return "corruption"
	case ResultConflict:
		n := 0
		for i := len(record.Runs) - 1; i >= 0 && record.Runs[i].Result == ResultConflict; i-- {
			n++
		}
		if n > 0 && n%conflictsInARow == 0 {
			return "conflicts"
		}
	case ResultFailed:
		if record.Paused != "" {
			return "paused"
		}
	}
	return ""
}

// alert tells the webhook in the background. What it is worth is in the log too, so nothing is repeated for long.
func (d *Daemon) alert(r result, record Record) {
	url := d.Config().Daemon.Webhook
	what := event(r.run, record)
	if url == "" || what == "" {
		return
	}
	a := Alert{Event: what, Table: r.job.Table, Time: d.o.Now(), Run: r.run,
		Text: fmt.Sprintf("dvcompactor: %s: %s (policy %s): %s", what, r.job.Table, r.run.Policy, r.run.Error)}
	go func() {
		if err := post(url, a); err != nil {
			d.o.Log.Error("the webhook was not told", zap.String("table", a.Table), zap.String("event", a.Event), zap.Error(err))
		}
	}()
}

// post sends an alert. Errors do not name the address, which may hold a secret.
func post(url string, a Alert) error {
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the address is no URL")
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	defer reply.Body.Close()
	if reply.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", reply.Status)
	}
	return nil
}
