package config

import (
	"testing"
	"time"
)

func TestEveryKeyOfTheDaemonIsRead(t *testing.T) {
	t.Parallel()
	const text = `daemon:
  listen: "[::]:443"
  pprof: "[::1]:6060"
  state: s3://b/state
  parallelism: 7
  parallelism_per_catalog: 9
  discovery: 1s
  deadline: 2s
  failures: 1
  grace: 0s
  token: ${T}
  tls: {cert_file: a, key_file: b}
  table_label: false
  webhook: https://h.example/x?y=z
`
	c, err := Parse("f", []byte(minimal(text)), env(map[string]string{"T": "t"}))
	if err != nil {
		t.Fatal(err)
	}
	want := Daemon{
		Listen: "[::]:443", Pprof: "[::1]:6060", State: "s3://b/state", Parallelism: 7, ParallelismPerCatalog: 9, Discovery: time.Second, Deadline: 2 * time.Second, Failures: 1,
		Token: "t", TLS: ServerTLS{CertFile: "a", KeyFile: "b"}, Webhook: "https://h.example/x?y=z",
	}
	if c.Daemon != want {
		t.Errorf("got %+v, want %+v", c.Daemon, want)
	}
	if got := c.Masked().Daemon.Webhook; got != "https://h.example/xxxxx" {
		t.Errorf("the webhook is shown as %s", got)
	}
}

func TestWhatTheEnvironmentLeavesEmptyIsNotThere(t *testing.T) {
	t.Parallel()
	const text = "daemon: {state: '${A:-}', webhook: '${B:-}', tls: {cert_file: '${C:-}', key_file: '${D:-}'}}\n"
	c, err := Parse("f", []byte(minimal(text)), nil)
	if err != nil || c.Daemon != DefaultDaemon() {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestStateIsKeptAtALocation(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"/var/lib/x", "file:///var/lib/x", "s3://bucket", "s3://bucket/a/b"} {
		c, err := Parse("f", []byte(minimal("daemon: {state: '"+state+"'}\n")), nil)
		if err != nil || c.Daemon.State != state {
			t.Errorf("%s: got %+v, %v", state, c, err)
		}
	}
}

func TestMistakesInTheDaemon(t *testing.T) {
	t.Parallel()
	const listen = "must be an address and a port, for instance 127.0.0.1:9464, or :9464 for all addresses"
	const pprof = "must be a loopback address and a port, for instance 127.0.0.1:6060: profiles tell what is in memory"
	const state = "must be an absolute folder or a location: /var/lib/dvcompactor, file:///var/lib/dvcompactor or s3://bucket/dvcompactor"
	checkMistakes(t, []mistake{
		{"a list", minimal("daemon: []\n"), []string{"f:6: daemon: must be a mapping of keys to values (got a list)"}},
		{"a mistyped key", minimal("daemon: {lisen: x}\n"), []string{"f:6: daemon.lisen: is not a known key here; did you mean listen?"}},
		{"a port alone", minimal("daemon: {listen: 9464}\n"), []string{"f:6: daemon.listen: " + listen + " (got 9464)"}},
		{"an address alone", minimal("daemon: {listen: '127.0.0.1:'}\n"), []string{"f:6: daemon.listen: " + listen + " (got 127.0.0.1:)"}},
		{"a port that is none", minimal("daemon: {listen: ':65536'}\n"), []string{"f:6: daemon.listen: " + listen + " (got :65536)"}},
		{"no address at all", minimal("daemon: {listen: ''}\n"), []string{"f:6: daemon.listen: " + listen}},
		{"profiles for everybody", minimal("daemon: {pprof: ':6060'}\n"), []string{"f:6: daemon.pprof: " + pprof + " (got :6060)"}},
		{"profiles for the network", minimal("daemon: {pprof: '10.0.0.1:6060'}\n"), []string{"f:6: daemon.pprof: " + pprof + " (got 10.0.0.1:6060)"}},
		{"profiles at no port", minimal("daemon: {pprof: localhost}\n"), []string{"f:6: daemon.pprof: " + pprof + " (got localhost)"}},
		{"a relative folder", minimal("daemon: {state: var/lib}\n"), []string{"f:6: daemon.state: " + state + " (got var/lib)"}},
		{"state in memory", minimal("daemon: {state: 'mem://'}\n"), []string{"f:6: daemon.state: " + state + " (got mem://)"}},
		{"state on a host", minimal("daemon: {state: 'file://host/x'}\n"), []string{"f:6: daemon.state: " + state + " (got file://host/x)"}},
		{"state in no bucket", minimal("daemon: {state: 's3:///x'}\n"), []string{"f:6: daemon.state: " + state + " (got s3:///x)"}},
		{"numbers and times", minimal("daemon:\n  parallelism: 0\n  parallelism_per_catalog: 0\n  discovery: 999ms\n  deadline: 0s\n  failures: 0\n  grace: -1s\n"), []string{
			"f:7: daemon.parallelism: must be a whole number from 1 to 1024 (got 0)",
			"f:8: daemon.parallelism_per_catalog: must be a whole number from 1 to 1024 (got 0)",
			"f:9: daemon.discovery: must be a duration of at least 1s, for instance 5m (got 999ms)",
			"f:10: daemon.deadline: must be a duration of at least 1s, for instance 1h (got 0s)",
			"f:11: daemon.failures: must be a whole number from 1 to 1024 (got 0)",
			"f:12: daemon.grace: must be a duration, for instance 5m, or 0s for none (got -1s)",
		}},
		{"a token that is missing", minimal("daemon: {token: '${NONE:-}'}\n"), []string{"f:6: daemon.token: is empty; remove it if no token is wanted"}},
		{"a token that cannot be sent", minimal("daemon: {token: \"hunter2\\n\"}\n"), []string{"f:6: daemon.token: has white space in it, which cannot be sent; remove it"}},
		{"a certificate without a key", minimal("daemon: {tls: {cert_file: a}}\n"), []string{"f:6: daemon.tls: has only one of cert_file and key_file; a server needs both"}},
		{"a key that is empty", minimal("daemon: {tls: {cert_file: a, key_file: ''}}\n"), []string{"f:6: daemon.tls: has only one of cert_file and key_file; a server needs both"}},
		{"client authentication", minimal("daemon: {tls: {ca_file: a}}\n"), []string{"f:6: daemon.tls.ca_file: is not a known key here; known are cert_file, key_file"}},
		{"a label that is no boolean", minimal("daemon: {table_label: off}\n"), []string{"f:6: daemon.table_label: must be true or false (got off)"}},
		{"a webhook without a scheme", minimal("daemon: {webhook: hooks.example/hunter2}\n"), []string{"f:6: daemon.webhook: must be of the form https://host/path"}},
		{"a webhook that is no address", minimal("daemon: {webhook: 'https://h/%hunter2'}\n"), []string{"f:6: daemon.webhook: must be of the form https://host/path; it has a % that does not start an escape, write %25"}},
	})
}
