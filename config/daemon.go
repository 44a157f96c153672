package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

func (d *decoder) daemon(m *mapping) Daemon {
	const most = 1024
	otherwise := DefaultDaemon()
	out := Daemon{
		Listen:                m.listen("listen", otherwise.Listen),
		Pprof:                 m.loopback("pprof"),
		State:                 m.state("state"),
		Parallelism:           m.integer("parallelism", 1, most, otherwise.Parallelism),
		ParallelismPerCatalog: m.integer("parallelism_per_catalog", 1, most, otherwise.ParallelismPerCatalog),
		Discovery:             m.durationFrom(time.Second, "discovery", "must be a duration of at least 1s, for instance 5m", otherwise.Discovery),
		Deadline:              m.durationFrom(time.Second, "deadline", "must be a duration of at least 1s, for instance 1h", otherwise.Deadline),
		Failures:              m.integer("failures", 1, most, otherwise.Failures),
		Grace:                 m.durationFrom(0, "grace", "must be a duration, for instance 5m, or 0s for none", otherwise.Grace),
		Token:                 m.bearer("token"),
		TLS:                   m.serverTLS("tls"),
		TableLabel:            m.boolean("table_label") || !m.has("table_label"),
		Webhook:               m.webhook("webhook"),
	}
	m.finish()
	return out
}

// listen reads the address of a server. It need not be loopback: what else guards it cannot be seen from here.
func (m *mapping) listen(key, otherwise string) string {
	s := m.scalar(key)
	if !s.set {
		return otherwise
	}
	_, port, err := net.SplitHostPort(s.text)
	if _, errPort := strconv.ParseUint(port, 10, 16); err != nil || errPort != nil {
		m.fail(key, "must be an address and a port, for instance 127.0.0.1:9464, or :9464 for all addresses", s.shown())
	}
	return s.text
}

// loopback reads the address of a server that nobody else may reach.
func (m *mapping) loopback(key string) string {
	s := m.scalar(key)
	if s.text == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(s.text)
	_, errPort := strconv.ParseUint(port, 10, 16)
	if ip := net.ParseIP(host); err != nil || errPort != nil || host != "localhost" && !ip.IsLoopback() {
		m.fail(key, "must be a loopback address and a port, for instance 127.0.0.1:6060: profiles tell what is in memory", s.shown())
	}
	return s.text
}

// state reads a location to keep things below.
func (m *mapping) state(key string) string {
	s := m.scalar(key)
	if s.text != "" && !isStateLocation(s.text) {
		m.fail(key, "must be an absolute folder or a location: /var/lib/dvcompactor, file:///var/lib/dvcompactor or s3://bucket/dvcompactor", s.shown())
	}
	return s.text
}

func isStateLocation(text string) bool {
	if strings.HasPrefix(text, "/") {
		return true
	}
	scheme, _, _ := strings.Cut(text, ":")
	return (scheme == "file" || scheme == "s3") && checkStorageURL(text) == ""
}

// bearer reads a secret that is sent in a header.
func (m *mapping) bearer(key string) string {
	s := m.scalar(key)
	switch {
	case s.set && s.text == "":
		m.fail(key, "is empty; remove it if no token is wanted", "")
	case strings.ContainsAny(s.text, " \t\r\n\x00"):
		m.fail(key, "has white space in it, which cannot be sent; remove it", "")
	}
	return s.text
}

func (m *mapping) serverTLS(key string) ServerTLS {
	inner := m.mapping(key)
	out := ServerTLS{CertFile: inner.str("cert_file"), KeyFile: inner.str("key_file")}
	inner.finish()
	if (out.CertFile == "") != (out.KeyFile == "") {
		m.fail(key, "has only one of cert_file and key_file; a server needs both", "")
	}
	return out
}

// webhook reads an address that is a secret in whole: it is what lets others send to it.
func (m *mapping) webhook(key string) string {
	s := m.scalar(key)
	if reason := checkHTTP(s.text); s.text != "" && reason != "" {
		m.fail(key, reason, "")
	}
	return s.text
}

func (d Daemon) masked() Daemon {
	d.State = Redact(d.State)
	d.Token = mask(d.Token)
	d.Webhook = maskBehindHost(d.Webhook)
	return d
}

// maskBehindHost leaves the scheme and the host of an address.
func maskBehindHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return mask(address)
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/" + masked}).String()
}
