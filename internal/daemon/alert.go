package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
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
		if !toldBefore(run, record) {
			return "corruption"
		}
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

// toldBefore says whether the check before found the same.
func toldBefore(run Run, record Record) bool {
	n := len(record.Runs)
	return n > 1 && record.Runs[n-2].Result == ResultDamaged && maps.Equal(record.Runs[n-2].Findings, run.Findings)
}

// alert tells the webhook in the background. What it is worth is in the log too, so nothing is repeated for long.
func (d *Daemon) alert(j Job, run Run, record Record) {
	address := d.Config().Daemon.Webhook
	what := event(run, record)
	if address == "" || what == "" {
		return
	}
	a := Alert{Event: what, Table: j.Table, Time: d.o.Now(), Run: run,
		Text: fmt.Sprintf("dvcompactor: %s: %s (policy %s): %s", what, j.Table, run.Policy, run.Error)}
	d.alerts.Go(func() {
		if err := post(address, a); err != nil {
			d.o.Log.Error("the webhook was not told", zap.String(logkey.Table, a.Table), zap.String(logkey.Event, a.Event), zap.String(logkey.Error, config.Redact(err.Error())))
		}
	})
}

// post sends an alert. Errors do not name the address, which may hold a secret.
func post(address string, a Alert) error {
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is no URL")
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := straight().Do(r)
	if err != nil {
		return fmt.Errorf("no answer: %w", withoutAddress(err))
	}
	defer reply.Body.Close()
	if reply.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", reply.Status)
	}
	return nil
}

// straight is a client that goes nowhere else than it was told to.
func straight() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// withoutAddress takes off what the client puts around errors: the whole address.
func withoutAddress(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}
